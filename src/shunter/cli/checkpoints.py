"""`checkpoints`: the checkpoints that jobs of programs have saved, on this machine or in a bucket."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer
from rich.table import Table

from shunter.cli.options.completion import job_names
from shunter.cli.output.console import Output, plain_table, print_as, print_table, say
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect
from shunter.jobs.ages import age
from shunter.launch.checkpoints.listing import listed_checkpoints
from shunter.launch.checkpoints.saved import SavedCheckpoints, SavedStep
from shunter.launch.code.packing import shown_bytes


def checkpoints(
    job: Annotated[
        str, typer.Argument(metavar="JOB", autocompletion=job_names, help="Name of the job [default: all jobs].")
    ] = "",
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
    form: Annotated[Output, typer.Option("-o", "--output", help="table, json or yaml.")] = Output.table,
) -> None:
    """List the checkpoints of a job started with shunter run, newest first; without a job, of all jobs that have any.

    Lists checkpoints in directories of the embedded cluster, including those of deleted jobs, and for a named job those in its
    bucket (with your credentials). Resume from one with: shunter run PROGRAM --resume JOB. A checkpoint of torch without
    .metadata, or of transformers' Trainer without trainer_state.json, is incomplete: it is still being saved, or its save was
    interrupted. The recipes ignore it; resume_from_checkpoint=True of transformers takes the newest directory, complete or not,
    so remove it first. If files that its .metadata names are missing or truncated, it is damaged, and a restore from it fails
    until it is removed.
    """
    found = asyncio.run(listed_checkpoints(connect(kubeconfig, context), job, namespace))
    if form is not Output.table:
        print_as([msgspec.to_builtins(one) for one in found], form)
    elif job:
        (only,) = found
        if only.job != job:
            say(f"{job} saves in the location of {only.job}: {only.directory}")
        print_table(steps_table(only.steps))
        if note := restore_note(only):
            say(note)
    elif found:
        print_table(jobs_table(found))
    else:
        whose = f"no job of namespace {namespace}" if namespace else "no job"
        say(f"{whose} has saved a checkpoint on this machine")


def steps_table(steps: Sequence[SavedStep]) -> Table:
    """A line for each checkpoint of a job, the newest first."""
    table = plain_table("STEP", "SIZE", "AGE", "")
    for step in steps:
        table.add_row(str(step.step), shown_bytes(step.size), age(step.saved), state_of(step))
    return table


def state_of(step: SavedStep) -> str:
    """`incomplete`, `damaged: __1_0.distcp is missing`; empty for a checkpoint of which nothing bad is known."""
    if not step.is_complete:
        return "incomplete"
    return f"damaged: {step.damage}" if step.damage else ""


def restore_note(saved: SavedCheckpoints) -> str:
    """What a restart or a resumption makes of the checkpoints of a job, where it is not simply the first in the list; else
    empty."""
    complete = [step for step in saved.steps if step.is_complete]
    first_whole = next((step for step in complete if not step.damage), None)
    newer = saved.steps[: saved.steps.index(first_whole)] if first_whole is not None else saved.steps
    half_of_trainer = _half_saved_by_trainer(saved, newer)
    goes_on = f"it goes on from step {first_whole.step}" if first_whole is not None else "it starts from the beginning"
    if damaged := [step for step in newer if step.is_complete]:
        note = f"restore: fails, as step {damaged[0].step} is damaged; remove {_paths(saved, damaged)}, and {goes_on}"
    elif first_whole is None:
        note = "restore: none of these is complete, so --resume is rejected, and the recipes start from the beginning"
    elif newer:
        ignored = "the recipes ignore incomplete checkpoints" if half_of_trainer else "incomplete checkpoints are ignored"
        note = f"restore: from step {first_whole.step}; {ignored}"
    else:
        return ""
    if half_of_trainer:
        note += (
            "; resume_from_checkpoint=True of transformers takes the newest directory: unless it is still being saved, "
            f"remove {_paths(saved, half_of_trainer)}"
        )
    return note


def _half_saved_by_trainer(saved: SavedCheckpoints, among: Sequence[SavedStep]) -> list[SavedStep]:
    """The checkpoints that transformers' Trainer has not finished. Other libraries write `checkpoint-N` too, and never the
    Trainer's last file: where no checkpoint of the place has it, theirs may be complete."""
    if not any(step.has_trainer_state for step in saved.steps):
        return []
    return [step for step in among if not step.is_complete and not step.has_trainer_state and step.name.startswith("checkpoint-")]


def _paths(saved: SavedCheckpoints, steps: Sequence[SavedStep]) -> str:
    return " and ".join(f"{saved.directory}/{step.name}" for step in steps)


def jobs_table(found: Sequence[SavedCheckpoints]) -> Table:
    """A line for each job: its newest complete checkpoint, and the number and total size of all."""
    table = plain_table("NAMESPACE", "JOB", "NEWEST", "AGE", "STEPS", "SIZE", "")
    for one in found:
        complete = [step for step in one.steps if step.is_complete]
        size = sum(step.size for step in one.steps)
        newest = (str(complete[0].step), age(complete[0].saved)) if complete else ("none", "")
        state = state_of(complete[0]) if complete else ""
        table.add_row(one.namespace, one.job, *newest, str(len(complete)), shown_bytes(size), state)
    return table
