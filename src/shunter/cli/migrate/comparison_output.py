"""Prints comparisons of runs, and returns their exit codes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from shunter.api.meta import Json
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.options.form import Form
from shunter.cli.output.console import Output, errors, plain_table, print_as, print_table
from shunter.migrate.moving.runs.comparison import Comparison

VERDICT_COLOURS = {
    "equal": "green",
    "within tolerance": "green",
    "different": "bold red",
    "not comparable": "yellow",
    "not seen": "dim",
}


def print_run_comparison(comparison: Comparison, form: Form = Form.table) -> int:
    """Prints the comparison; returns its exit code."""
    if form is Form.json:
        print_as(plain(comparison), Output.json)
    else:
        table = plain_table("ASPECT", "VERDICT", "ORIGINAL", "SUCCESSOR", "WHY")
        for aspect in comparison.aspects:
            colour = VERDICT_COLOURS[aspect.verdict] if aspect.decides else "dim"
            cells = (aspect.original, aspect.successor, aspect.why if aspect.decides else f"{aspect.why} (shown only)".strip())
            table.add_row(aspect.name, Text(aspect.verdict, style=colour), *cells)
        print_table(table)
        titles = f"{comparison.original.title} and {comparison.successor.title}"
        colour = VERDICT_COLOURS[comparison.verdict]
        unseen = f"; not seen: {', '.join(comparison.unobserved)}" if comparison.unobserved else ""
        errors().print(Text.assemble(f"{titles}: ", (comparison.verdict, colour), unseen), soft_wrap=True)
    return exit_code(comparison)


def print_list(comparisons: Sequence[Comparison]) -> None:
    """Prints a line for each: the verdict, and what decided it or was not observed."""
    table = plain_table("ORIGINAL", "SUCCESSOR", "VERDICT", "WHY")
    for one in comparisons:
        deciding = [aspect for aspect in one.aspects if aspect.decides and aspect.verdict == one.verdict and aspect.why]
        why = "; ".join(f"{aspect.name}: {aspect.why}" for aspect in deciding)
        if one.unobserved:
            why = f"not seen: {', '.join(one.unobserved)}"
        verdict = Text(one.verdict, style=VERDICT_COLOURS[one.verdict])
        table.add_row(one.original.title, one.successor.title, verdict, why)
    print_table(table)


def exit_code(comparison: Comparison) -> int:
    """The exit code of a comparison."""
    codes = {"different": exit_codes.DIFFERENT, "not comparable": exit_codes.FAILED}
    return codes.get(comparison.verdict, exit_codes.OK)


def plain(comparison: Comparison) -> Json:
    """For `-o json`; scripts rely on it."""
    return {
        "verdict": comparison.verdict,
        "original": comparison.original.title,
        "successor": comparison.successor.title,
        "notSeen": list(comparison.unobserved),
        "aspects": [aspect._asdict() for aspect in comparison.aspects],
    }
