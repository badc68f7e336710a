"""The move of programs: each call of the v1 SDK beside the one of v2."""

from __future__ import annotations

from shunter.migrate.survey.report.markdown import table as markdown_table
from shunter.migrate.survey.report.page import Html, code, element, page, prose, table
from shunter.migrate.survey.sdk_moves import MOVES, Move

TITLE = "From TrainingClient to TrainerClient"


def html() -> str:
    """The whole page, which is the same for everybody: it says nothing of the jobs."""
    rows = [
        (element("code", ", ".join(move.calls)), element("code", move.v2) if move.v2 else "nothing", prose(move.loss))
        for move in MOVES
    ]
    return page(
        TITLE,
        element("p", element("a", "All jobs", href="index.html"), class_="faint"),
        element(
            "p", "kubeflow-training 1.9 to kubeflow 0.5. Both may be installed at once, so that a program can move call by call."
        ),
        table(("v1", "v2", "what is different"), rows),
        *(part for move in MOVES for part in _sides(move)),
    )


def markdown() -> str:
    """The page as Markdown."""
    lines = [f"# {TITLE}", "", "kubeflow-training 1.9 to kubeflow 0.5.", ""]
    lines += markdown_table(
        ("v1", "v2", "what is different"), [(", ".join(move.calls), move.v2 or "nothing", prose(move.loss)) for move in MOVES]
    )
    for move in MOVES:
        lines += ["", f"## {', '.join(move.calls)}", "", "```python", f"# v1\n{move.before.rstrip()}", "```", ""]
        lines += ["```python", f"# v2\n{move.after.rstrip()}", "```"]
    return "\n".join(lines) + "\n"


def _sides(move: Move) -> list[Html]:
    return [
        element("h2", ", ".join(move.calls)),
        element("p", prose(move.loss)),
        element(
            "div",
            element("div", element("h3", "v1"), code(move.before)),
            element("div", element("h3", "v2"), code(move.after)),
            class_="sides",
        ),
    ]
