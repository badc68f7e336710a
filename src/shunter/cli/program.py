"""`run` for a program: creates a job from the options and the program's files."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from shunter.api.formats.counts import count, listed
from shunter.api.meta import Json, annotations_of
from shunter.api.resources import TRAIN_JOBS, Resource
from shunter.api.titles import object_title
from shunter.cli.options.option_groups import given_options
from shunter.cli.options.program_options import ProgramOptions
from shunter.cli.output.console import ObjectForm, print_objects, say
from shunter.cli.tracking import local_address, print_run, print_server, require_local_server, start_local_server
from shunter.cluster import mlflow_server
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.jobs.lookup import find
from shunter.launch import option_texts
from shunter.launch.annotations import DIGEST, DIRECTORY, PROGRAM
from shunter.launch.code.delivery import Code, ImageCode, MountedCode, PackedCode
from shunter.launch.code.packing import shown_bytes
from shunter.launch.deleting import delete_and_wait
from shunter.launch.names import base_name, free_name
from shunter.launch.objects import launch
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.preparing import make_embedded_place, prepared, require_understood, secret_environment
from shunter.launch.programs import program_of
from shunter.launch.rerunning import rerun
from shunter.launch.runtimes.choice import PYTHON, Runtime
from shunter.launch.submitting import SubmittedJob, job_names, submit
from shunter.launch.tracking import LOCAL, tracked_run, with_uri

RERUN_OPTIONS = {"--rerun", "--name", "--detach", "--namespace"}
CLIENT_SIDE_APPLY_BYTES = 180 * 1024
"""The largest object that kubectl apply can store in an annotation of at most 256 KiB, as base64."""


def requested(path: str, options: ProgramOptions, words: list[str]) -> tuple[Program, Path]:
    """The program and the directory that is sent. Checks every option, so that errors come before a cluster is started."""
    program, root = program_of(path, module=options.module, arguments=words, workdir=options.workdir, is_in_image=options.no_code)
    launch_options(options, program, [])
    require_local_server(options.mlflow)
    require_understood(options.env_from, options.fabric, options.instance, options.namespace)
    return program, root


def launch_options(
    options: ProgramOptions, program: Program, environment: list[Json], *, local_mlflow: str = ""
) -> LaunchOptions:
    """The options as values. Raises InputError for invalid ones."""
    given = (*option_texts.variables(options.env, os.environ), *environment)
    return option_texts.launch_options(
        program,
        given,
        nodes=options.nodes,
        gpus=options.gpus,
        procs=options.procs,
        cpus=options.cpus,
        memory=options.memory,
        name=options.name,
        image=options.image,
        volumes=options.volume,
        checkpoints=options.checkpoints,
        resume=options.resume,
        grace=options.grace,
        queue=options.queue,
        labels=option_texts.labels(options.label),
        deadline=options.deadline,
        mlflow=options.mlflow,
        restarts=options.restarts,
        local_mlflow=local_mlflow,
    )


async def submitted(target: Target, program: Program, root: Path, options: ProgramOptions, *, replace: bool) -> Json | None:
    """Creates and reports the program's job; None with --dry-run, which prints it."""
    client = target.client
    namespace = options.namespace or client.namespace
    environment = await secret_environment(client, namespace, options.env_from)
    ready = await prepared(
        target,
        launch_options(options, program, environment, local_mlflow=local_address(target, options.mlflow)),
        root,
        namespace=namespace,
        runtime=options.runtime,
        fabric=options.fabric,
        instance=options.instance,
        is_in_image=options.no_code,
        is_copied=options.snapshot,
        is_started=not options.dry_run,
        notify=say,
    )
    chosen, code, runtime, taken = ready
    if options.dry_run:
        name = chosen.name or free_name(base_name(program), {*taken, *await job_names(client, namespace)})
        print_server(chosen)
        print_applicable(launch(chosen, code, runtime, name=name, namespace=namespace), options.form)
        return None
    if chosen.tracking is not None:
        await start_local_server(target, chosen.tracking.uri)
    if replace:
        await delete_present(target, chosen.name, namespace)
    await make_embedded_place(target, chosen, namespace, say)
    made = await submit(client, chosen, code, runtime=runtime, namespace=namespace, taken=taken, notify=say)
    say(code_line(code, root, made.sent))
    say(job_line(made, chosen, runtime))
    print_server(chosen)
    print_run(made.job)
    if chosen.checkpoints is None:
        say("checkpoints: none are kept; --checkpoints keeps what the program saves in SHUNTER_CHECKPOINT_DIR")
    return made.job


async def submitted_again(target: Target, options: ProgramOptions, resource: Resource, job: Json) -> Json:
    """Creates another job of the same program or spec, and reports what is the same."""
    if others := [option for option in given_options(options) if option not in RERUN_OPTIONS]:
        raise InputError(
            f"--rerun {options.rerun} runs with the options of that job; {others[0]} cannot be given.",
            "Leave it out, or run the program itself.",
        )
    run = tracked_run(job)
    if run is not None and mlflow_server.is_own(run.uri) and target.embedded is not None:
        job = with_uri(job, local_address(target, LOCAL))
        await start_local_server(target, run.uri)
    is_here = target.embedded is not None
    made = await rerun(target.client, resource, job, name=options.name, on_this_machine=is_here, notify=say)
    metadata, annotations = made["metadata"], annotations_of(made)
    title = object_title(resource.kind, metadata["namespace"], metadata["name"])
    if PROGRAM not in annotations:
        say(f"{title}: the spec of {job['metadata']['name']}")
        return made
    if mounted := annotations.get(DIRECTORY):
        say(f"code: {mounted} (mounted, so the job runs its present content, not what {options.rerun} ran)")
    elif digest := annotations.get(DIGEST):
        say(f"code: the same as {options.rerun}'s, sha256 {digest[:12]}")
    say(f"{title}: {annotations[PROGRAM]}, as {options.rerun}")
    print_run(made)
    return made


async def delete_present(target: Target, name: str, namespace: str) -> None:
    """Deletes the TrainJob of this name, if it exists, and waits until it is gone."""
    if job := await target.client.find(TRAIN_JOBS, name, namespace):
        say(f"deleting TrainJob {namespace}/{name}")
        await delete_and_wait(target.client, TRAIN_JOBS, job, notify=say, on_this_machine=target.embedded is not None)


def print_applicable(objects: list[Json], form: ObjectForm | None) -> None:
    """Prints objects for `kubectl apply`, and how to apply large ones."""
    print_objects(objects, form or ObjectForm.yaml)
    if any(len(msgspec.json.encode(one)) > CLIENT_SIDE_APPLY_BYTES for one in objects):
        say("the code is large: apply it with kubectl apply --server-side")


def code_line(code: Code, root: Path, sent: int) -> str:
    """Which files of the program were sent."""
    if isinstance(code, MountedCode):
        return f"code: {code.directory} (mounted, read only: later edits show in the running job; --snapshot sends a copy)"
    if isinstance(code, ImageCode):
        return "code: in the image"
    return f"{packed_line(code, root)}{'' if sent else '; already in the cluster'}{never_line(code)}"


def packed_line(code: PackedCode, root: Path) -> str:
    """`code: 12 files, 38 KB packed (git: tracked and new, not ignored), sha256 0123456789ab`."""
    source = "git: tracked and new, not ignored" if code.from_git else f"all of {root}"
    files = count(code.files, "file")
    return f"code: {files}, {shown_bytes(len(code.archive))} packed ({source}), sha256 {code.digest[:12]}"


def never_line(code: PackedCode) -> str:
    """Files that git tracks but that were left out."""
    if not code.left_out:
        return ""
    return f"\nleft out, as secrets and weights always are: {listed(code.left_out)}"


def job_line(made: SubmittedJob, options: LaunchOptions, runtime: Runtime) -> str:
    """`TrainJob default/train-2 (train is taken): 2 nodes x 1 process, runtime torch-distributed`."""
    metadata = made.job["metadata"]
    taken = f" ({made.base} is taken)" if metadata["name"] != made.base else ""
    nodes = count(options.nodes, "node")
    processes = count(options.processes, "process", "processes") if runtime.launcher != PYTHON else "1 process"
    name = runtime.name
    if options.restarts is not None:
        name += f" with {count(options.restarts, 'restart')} of all pods"
    return f"TrainJob {metadata['namespace']}/{metadata['name']}{taken}: {nodes} x {processes}, runtime {name}"


async def run_program(
    target: Target, request: tuple[Program, Path] | None, options: ProgramOptions, *, replace: bool, timeout: float | None
) -> bool:
    """Whether the job of the program, or of --rerun, succeeded; with --detach, whether it was created."""
    async with target.client as client:
        if not options.dry_run:
            say(f"on {target.description}")
        job: Json | None
        resource = TRAIN_JOBS
        if request is None:
            resource, earlier = await find(client, options.rerun, options.namespace)
            job = await submitted_again(target, options, resource, earlier)
        else:
            job = await submitted(target, *request, options, replace=replace)
        if job is None:
            return True
        from shunter.cli.output.following import all_succeeded, remaining_text  # while the pods start

        if options.detach:
            say(remaining_text(job, "was created"))
            return True
        succeeded = await all_succeeded(client, [(resource, job)], timeout)
        if succeeded:
            say(f"again: shunter run --rerun {job['metadata']['name']} -n {job['metadata']['namespace']}")
        return succeeded
