"""`migrate explain`: explains the id of a finding, or a field of v1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from shunter.cli.output.console import output, print_table
from shunter.errors import InputError
from shunter.migrate import catalogue
from shunter.migrate.survey.explaining import fields, topics


def explain(
    asked: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID|FIELD]...", help="Id of a finding, as in TTL001, or field of v1, as in spec.runPolicy.cleanPodPolicy."
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List all ids and fields.")] = False,
) -> None:
    """Explain a finding by its id, or a field of v1 jobs: behavior in v1 and v2, and remedy."""
    if listed:
        show_all()
        return
    if not asked:
        raise InputError("nothing to explain was named.", "Name an id (TTL001) or a field, or add --list.")
    for position, text in enumerate(asked):
        found = fields.matching(text)
        parts = [fields.lines(field) for field in found] if found else [topics.lines(topics.topic_of(text))]
        for number, part in enumerate(parts):
            if position or number:
                typer.echo()
            show(part)


def show(lines: Iterable[tuple[str, str]]) -> None:
    """Prints pairs of a heading and a text; a heading is left out where it repeats the one before. A text without a heading comes
    first."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    before = ""
    for heading, text in lines:
        if heading:
            table.add_row("" if heading == before else heading, Text(text))
        else:
            output().print(Text(text, style="bold cyan"), soft_wrap=True)
        before = heading
    print_table(table)


def show_all() -> None:
    """Prints every topic of findings, then every field of v1 that can be explained."""
    table = Table(box=None, pad_edge=False)
    for heading in ("ID", "SEVERITY", "IMPACT", "EFFORT", "ABOUT"):
        table.add_column(heading, justify="right" if heading == "EFFORT" else "left")
    for topic in catalogue.topics().values():
        table.add_row(topic.id, topic.severity, topic.impact, str(topic.effort), topic.title)
    print_table(table)
    output().print()
    for field in fields.guide():
        output().print(field.field.replace("spec.roles", "spec.<kind>ReplicaSpecs"))
