"""Self-contained HTML pages: no scripts, fonts or pictures from elsewhere.

Only `element` turns text into markup, and escapes it; `Html` is not escaped again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from shunter import __version__


class Html(str):
    """Markup, which is not escaped again."""

    __slots__ = ()


def element(name: str, *children: object, **attributes: str) -> Html:
    """`element("td", "a < b", class_="number")`; children that are None and empty attributes are left out."""
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items() if value)
    inner = "".join(child if isinstance(child, Html) else escape(str(child)) for child in children if child is not None)
    return Html(f"<{name}{given}>{inner}</{name}>")


def table(head: Sequence[object], rows: Iterable[Sequence[object]], *, numbers: Iterable[int] = ()) -> Html:
    """A table that scrolls if it is too wide; the columns `numbers` are aligned to the right."""
    right = set(numbers)

    def row(cells: Sequence[object], name: str) -> Html:
        return element(
            "tr", *(element(name, cell, class_="number" if place in right else "") for place, cell in enumerate(cells))
        )

    body = [row(cells, "td") for cells in rows]
    top = element("thead", row(head, "th")) if any(head) else None
    return element("div", element("table", top, element("tbody", *body)), class_="wide")


def cards(figures: Iterable[tuple[str, object, str]]) -> Html:
    """Large figures: label, figure, and tone (`good`, `bad`, `mild` or none)."""
    return element(
        "div",
        *(
            element("div", element("b", value), element("span", name), class_=f"card {tone}".strip())
            for name, value, tone in figures
        ),
        class_="cards",
    )


def bars(rows: Iterable[tuple[str, int, str]]) -> Html:
    """A histogram: label, number, tone."""
    listed = list(rows)
    most = max([number for _, number, _ in listed], default=0) or 1
    return element(
        "div",
        *(
            element(
                "div",
                element("span", label, class_="label"),
                element("span", _filled(number / most, tone) if number else None, class_="track"),
                element("span", f"{number:,}", class_="number"),
                class_="bar",
            )
            for label, number, tone in listed
        ),
        class_="bars",
    )


def _filled(share: float, tone: str) -> Html:
    return element("i", class_=tone, style=f"width:{share * 100:.1f}%")


def badge(text: str, tone: str = "") -> Html:
    """A short text in a box; `tone` is `good`, `bad`, `mild` or none."""
    return element("span", text, class_=f"badge {tone}".strip())


def prose(text: str) -> Html:
    """Text in which `backticks` mark code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return element("span", text)
    return element("span", *(element("code", part) if place % 2 else part for place, part in enumerate(parts)))


def code(text: str) -> Html:
    """A preformatted block."""
    return element("pre", element("code", text))


def page(title: str, *body: Html) -> str:
    """A document that includes its style sheet."""
    style = Html(files("shunter.migrate.survey.report").joinpath("page.css").read_text(encoding="utf-8"))
    head = element(
        "head",
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", title),
        element("style", style),
    )
    foot = element("footer", f"Written by shunter {__version__}.")
    document = element("html", head, element("body", element("main", element("h1", title), *body, foot)), lang="en")
    return f"<!DOCTYPE html>\n{document}\n"
