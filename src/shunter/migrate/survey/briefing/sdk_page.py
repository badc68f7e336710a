"""How programs are migrated: each call of the v1 SDK, and its counterpart in v2."""

from __future__ import annotations

from shunter.migrate.survey.report.markdown import table as markdown_table
from shunter.migrate.survey.report.page import Html, code, element, page, prose, table
from shunter.migrate.survey.sdk_moves import COUNTERPARTS, Counterpart

TITLE = "From TrainingClient to TrainerClient"


def html() -> str:
    """The whole page, which is the same for everybody: it says nothing of the jobs."""
    rows = [
        (
            element("code", ", ".join(counterpart.calls)),
            element("code", counterpart.v2) if counterpart.v2 else "nothing",
            prose(counterpart.loss),
        )
        for counterpart in COUNTERPARTS
    ]
    return page(
        TITLE,
        element("p", element("a", "All jobs", href="index.html"), class_="faint"),
        element(
            "p",
            "kubeflow-training 1.9 to kubeflow 0.5. Both can be installed at once: a program can be migrated call by call.",
        ),
        table(("v1", "v2", "what is different"), rows),
        *(part for counterpart in COUNTERPARTS for part in _sides(counterpart)),
    )


def markdown() -> str:
    """The page as Markdown."""
    lines = [f"# {TITLE}", "", "kubeflow-training 1.9 to kubeflow 0.5.", ""]
    lines += markdown_table(
        ("v1", "v2", "what is different"),
        [(", ".join(counterpart.calls), counterpart.v2 or "nothing", prose(counterpart.loss)) for counterpart in COUNTERPARTS],
    )
    for counterpart in COUNTERPARTS:
        lines += ["", f"## {', '.join(counterpart.calls)}", "", "```python", f"# v1\n{counterpart.before.rstrip()}", "```", ""]
        lines += ["```python", f"# v2\n{counterpart.after.rstrip()}", "```"]
    return "\n".join(lines) + "\n"


def _sides(counterpart: Counterpart) -> list[Html]:
    return [
        element("h2", ", ".join(counterpart.calls)),
        element("p", prose(counterpart.loss)),
        element(
            "div",
            element("div", element("h3", "v1"), code(counterpart.before)),
            element("div", element("h3", "v2"), code(counterpart.after)),
            class_="sides",
        ),
    ]
