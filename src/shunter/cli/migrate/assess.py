"""`migrate assess`: whether a cluster is ready for v2."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.options.conversion import ConversionOptions, SuffixOption
from shunter.cli.migrate.options.form import Form, FormOption
from shunter.cli.migrate.options.moving import NamespacesOption
from shunter.cli.options.option_groups import grouped
from shunter.cli.output.console import Output, busy, output, plain_table, print_as, print_table
from shunter.cli.target import ContextOption, KubeconfigOption, connect
from shunter.migrate.conversion.source.live import require_namespaces
from shunter.migrate.moving.readiness import gathering
from shunter.migrate.moving.readiness.assessment import Assessment, assessed, chosen
from shunter.migrate.moving.readiness.facts import Facts

COLOURS = {"READY": "green", "PARTIAL": "yellow", "BLOCKED": "bold red"}
MARKS = {
    ("passed", "none"): ("passed", "green"),
    ("failed", "blocking"): ("blocking", "bold red"),
    ("failed", "advisory"): ("advisory", "yellow"),
    ("unknown", "blocking"): ("unknown", "yellow"),
    ("unknown", "advisory"): ("unknown", "yellow"),
    ("not applicable", "none"): ("not applicable", "dim"),
}


@grouped
def assess(
    *,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespaces: NamespacesOption = None,
    checks: Annotated[
        list[str] | None, typer.Option("--checks", metavar="GLOB", help="Only these checks, by name or id; repeatable.")
    ] = None,
    form: FormOption = Form.table,
    as_json: Annotated[bool, typer.Option("--json", help="Same as -o json.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 4 unless the verdict is READY.")] = False,
    flags: ConversionOptions,
    suffix: SuffixOption = "",
) -> None:
    """Check whether a cluster is ready for v2: READY, PARTIAL or BLOCKED, with the next steps.

    Reads, sends dry runs and checks your permissions; changes nothing. What you may not read is reported as unknown.
    Exit codes: 0 READY or PARTIAL, 4 BLOCKED (with --strict also PARTIAL).
    """
    selected = chosen(checks or [])
    options = flags.meaning(suspend=True, suffix=suffix)
    target = connect(kubeconfig, context)

    async def gather() -> Facts:
        async with target.client as client:
            await require_namespaces(client, namespaces or [])
            return await gathering.gather(client, namespaces or [], options)

    with busy("checking the cluster"):
        found = assessed(asyncio.run(gather()), selected)
    if as_json or form is Form.json:
        print_as(msgspec.to_builtins(found), Output.json)
    else:
        show(found, target.description)
    if found.verdict == "BLOCKED" or (strict and found.verdict != "READY"):
        raise typer.Exit(exit_codes.NOT_READY)


def show(found: Assessment, cluster: str) -> None:
    """Prints each check with its faults, the verdict, and the numbered next steps."""
    table = plain_table("ID", "RESULT", "CHECK")
    for result in found.results:
        table.add_row(result.id, Text(*MARKS[result.status, result.impact]), result.title)
        if result.why:
            table.add_row("", "", Text(result.why, style="dim"))
        for fault in result.faults:
            about = f"{fault.object}: " if fault.object else ""
            colour = "red" if fault.impact == "blocking" else "yellow"
            table.add_row("", "", Text.assemble(("-", colour), f" {about}{fault.message}"))
    print_table(table)
    output().print(Text.assemble("\n", (found.verdict, COLOURS[found.verdict]), f" {cluster}"), soft_wrap=True)
    for number, step in enumerate(found.next, start=1):
        output().print(f"{number:3}. {step}", soft_wrap=True)
