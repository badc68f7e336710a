"""`size`: prints the memory that a training needs and the machines it fits on, by `shunter.sizing`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from shunter import sizing
from shunter.cli.options.option_groups import given_options, grouped
from shunter.cli.options.size_options import Form, NameOptions, TrainingOptions
from shunter.cli.output.console import ObjectForm, Output, output, print_as, print_objects, say
from shunter.cli.target import ContextOption, KubeconfigOption, connect
from shunter.errors import InputError
from shunter.sizing import Sizing
from shunter.sizing.instances import Instance
from shunter.sizing.manifests import manifests
from shunter.sizing.nodes import cluster_instances
from shunter.sizing.options import ManifestOptions, amount
from shunter.sizing.prices import read_prices
from shunter.sizing.report import report

NOTHING_FITS = 1
UNDECIDED = 3
"""Exit code if manifests still have fields to fill in, or no machine could be judged."""
STYLES = {"fits": "green", "tight": "yellow", "unknown": "yellow", "no": "red"}


@grouped
def size(
    model: Annotated[
        str, typer.Argument(metavar="[MODEL]", help="Known model, as in Llama-3.1-8B, or path of a config.json.")
    ] = "",
    parameters: Annotated[str, typer.Option("--params", help="Number of parameters, as in 8B, instead of a model.")] = "",
    training: TrainingOptions = TrainingOptions(),  # noqa: B008
    on: Annotated[
        str,
        typer.Option(
            "--on",
            help="aws, azure, machine types as in aws:p5.48xlarge,g6e.48xlarge, or cluster for the nodes of the "
            "cluster [default: aws].",
        ),
    ] = "",
    prices: Annotated[Path | None, typer.Option("--prices", help="YAML file with machine prices; see docs/sizing.md.")] = None,
    form: Annotated[
        Form, typer.Option("-o", "--output", help="table, json, yaml, or manifests for the first machine type that fits.")
    ] = Form.table,
    names: NameOptions = NameOptions(),  # noqa: B008
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
) -> None:
    """Estimate the memory that a training needs, the machines it fits on, and its duration. Starts nothing, and uses no network
    except with --on cluster.

    Exit codes: 0 it fits on a machine (possibly tight), 1 it fits on none, 2 invalid input, 3 manifests are incomplete or no
    verdict is possible.
    """
    if form is not Form.manifests and (given := given_options(names)):
        raise InputError(f"{given[0]} applies only to -o manifests.", "Add -o manifests, or leave it out.")
    if on != "cluster" and (kubeconfig or context):
        raise InputError(
            f"{'--kubeconfig' if kubeconfig else '--context'} applies only to --on cluster.", "Add that, or leave it out."
        )
    values = training._asdict()
    values |= {"tokens": amount("--tokens", training.tokens), "seq": training.seq or 0, "nodes": training.nodes or 0}
    found = sizing.size(
        model,
        sizing.SizeOptions(**values),
        parameters=parameters,
        on=on,
        instances=_nodes(kubeconfig, context) if on == "cluster" else None,
        prices=read_prices(prices) if prices else None,
    )
    if form is Form.manifests:
        _print_manifests(found, names)
    else:
        _print(found, form)
    if not found.of("fits", "tight"):
        raise typer.Exit(UNDECIDED if found.of("unknown") else NOTHING_FITS)


def _nodes(kubeconfig: Path | None, context: str) -> Sequence[Instance]:
    async def read() -> Sequence[Instance]:
        async with connect(kubeconfig, context).client as client:
            return await cluster_instances(client)

    return asyncio.run(read())


def _print(found: Sizing, form: Form) -> None:
    if form is not Form.table:
        print_as(found.as_json(), Output(form.value))
        return
    for line in report(found, output().width):
        text = Text(line)
        word = line.split(" ", 1)[0]
        if word in STYLES:
            text.stylize(STYLES[word], 0, len(word))
        output().print(text, soft_wrap=True)


def _print_manifests(found: Sizing, names: NameOptions) -> None:
    usable = found.of("fits", "tight")
    if not usable:
        reason = found.choices[0].reason
        raise InputError(f"-o manifests: no machine fits ({found.choices[0].choice.instance.name}: {reason}).", "See -o table.")
    choice = usable[0].choice
    made = manifests(
        choice,
        ManifestOptions(
            name=names.name,
            namespace=names.namespace,
            api=names.api,
            image=names.image,
            role=names.role,
            subnets=tuple(names.subnet),
            security_groups=tuple(names.security_group),
            ami=names.ami,
            zone=names.zone,
            reservation=names.capacity_reservation,
            spot=names.spot,
            kueue=names.kueue,
        ),
    )
    say(f"for {choice.nodes} x {choice.instance.name}: {usable[0].verdict}{f', {choice.reason}' if choice.reason else ''}")
    for note in made.notes:
        say(note)
    print_objects(made.objects, ObjectForm.yaml)
    if made.placeholders:
        for placeholder in made.placeholders:
            say(f"placeholder: {placeholder.object}: {placeholder.field} ({placeholder.option})")
        raise typer.Exit(UNDECIDED)
