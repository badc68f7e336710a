"""axe finds nothing in any view, in two colour schemes and three widths; nothing is wider than the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from playwright.sync_api import Page, expect

from page.browser import samples
from page.browser.chromium import Tab
from page.browser.given import Given
from page.browser.test_trouble import SESSION, reload_with
from shunter.page.wire import NodeRow

pytestmark = [pytest.mark.integration, pytest.mark.browser]

Look = Callable[..., Tab]
AXE = Path(__file__).parents[3] / "src/shunter/page/node_modules/axe-core/axe.min.js"
VIEWS = {
    "/jobs": "tr.row",
    "/jobs?find=nothing-is-called-so": ".empty",
    "/jobs/vision/PyTorchJob/bert-large": ".log .line",
    "/migration": ".wave",
    "/migration/vision/PyTorchJob/bert-large": ".sides",
    "/cluster": "td .meter",
    "/login": ".empty",
}
"""Address -> what is there once the view is whole."""
CUT_OFF = """() => [...document.querySelectorAll("main td, main th, main .wide")]
  .filter((cell) => cell.offsetWidth)
  .filter((cell) => cell.scrollWidth > cell.clientWidth + 1 || cell.getBoundingClientRect().right > innerWidth)
  .map((cell) => cell.outerHTML.slice(0, 200))"""


def faults(page: Page) -> list[str]:
    """What axe finds: rule, and the elements."""
    # Scripts are refused by our own policy, so axe is evaluated through the debugger, in each page once.
    page.evaluate(AXE.read_text() + "; undefined")
    found = page.evaluate(
        """async () => {
          const found = await axe.run({ resultTypes: ["violations"], preload: false });
          return found.violations.map((rule) => [rule.id, rule.nodes.map((node) => node.html + node.failureSummary)]);
        }"""
    )
    return [f"{rule}: {nodes}" for rule, nodes in found]


WINDOWS = [(480, "light"), (1600, "dark")]
FURTHER_WINDOWS = [(480, "dark"), (1024, "light"), (1024, "dark"), (1600, "light")]


@pytest.mark.parametrize(
    ("width", "scheme"), [*WINDOWS, *(pytest.param(*window, marks=pytest.mark.long) for window in FURTHER_WINDOWS)]
)
def test_axe_finds_nothing(look: Look, width: int, scheme: Literal["light", "dark"]) -> None:
    tab = look(color_scheme=scheme, viewport={"width": width, "height": 900})
    origin = tab.page.evaluate("() => location.origin")
    for path, whole in VIEWS.items():
        tab.page.goto(origin + path)
        expect(tab.page.locator(whole).first).to_be_visible()
        assert faults(tab.page) == [], path
        assert tab.page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0, f"{path} is too wide"


def test_no_view_is_wider_than_the_narrowest_window(look: Look, given: Given) -> None:
    """A desktop's at a zoom of 400 %, with names as long as they may be."""
    long = {"name": "resnet-" * 36, "namespace": "n" * 63}
    given.rows["jobs"] = {"jobs": [msgspec.structs.replace(row, **long) for row in samples.first_jobs(2e9)]}
    given.rows["job"] = samples.job(8, None, **long)
    cluster = samples.cluster()
    nodes = [node for node in cluster["nodes"] if isinstance(node, NodeRow)]
    given.rows["cluster"] = {
        **cluster,
        "nodes": [msgspec.structs.replace(node, name=f"{long['name']}-{node.name}") for node in nodes],
        "waiting": [msgspec.structs.replace(row, **long) for row in cluster["waiting"]],
        "queues": [msgspec.structs.replace(row, **long) for row in cluster["queues"]],
    }
    migration = samples.migration()
    given.rows["migration"] = {**migration, "moves": [msgspec.structs.replace(row, **long) for row in migration["moves"]]}
    page = look(viewport={"width": 320, "height": 640}).page
    origin = page.evaluate("() => location.origin")
    for path, whole in VIEWS.items():
        page.goto(origin + path)
        expect(page.locator(whole).first).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0, f"{path} is too wide"


def test_on_a_telephone_a_long_namespace_hides_neither_ranks_nor_kind(look: Look, given: Given) -> None:
    given.rows["jobs"] = {"jobs": [msgspec.structs.replace(samples.first_jobs(2e9)[3], namespace="n" * 63)]}
    under = look(viewport={"width": 360, "height": 640}).page.locator("tr.row td.under")
    expect(under).to_have_text("999/1,000 \u00b7 PyTorchJob \u00b7 " + "n" * 63)


@pytest.mark.parametrize("width", [360, 1280])
def test_the_end_of_a_node_s_name_is_whole_in_its_cell(look: Look, given: Given, width: int) -> None:
    ranks = [msgspec.structs.replace(row, node=f"gke-team-a100-pool-0a1b2c3d-w4x{row.rank}") for row in samples.ranks(3)]
    given.rows["job"] = {**given.rows["job"], "ranks": ranks}
    names = look("/jobs/vision/PyTorchJob/bert-large", viewport={"width": width, "height": 640}).page.locator(
        ".strip.cells i > span"
    )
    expect(names).to_have_text([f"\u2026a1b2c3d-w4x{rank}" for rank in range(3)])
    assert names.evaluate_all("(cells) => cells.map((cell) => Math.max(0, cell.scrollWidth - cell.clientWidth))") == [0, 0, 0]


@pytest.mark.parametrize("width", [700, 901, 1000])
def test_why_a_job_failed_is_shown_in_half_a_window(look: Look, width: int) -> None:
    """It was cut off between the widths of a telephone and of a desktop."""
    why = look(viewport={"width": width, "height": 900}).page.locator("tr.row td.c-why").first
    place = why.bounding_box()
    assert place is not None
    assert place["width"] >= 140
    assert place["x"] + place["width"] <= width


@pytest.mark.parametrize("width", [1010, 1024, 1280, 1600])
def test_how_many_ranks_are_up_is_never_cut_off(look: Look, given: Given, width: int) -> None:
    first = msgspec.structs.replace(samples.first_jobs(2e9)[3], up=1000, wanted=1000)
    given.rows["jobs"] = {"jobs": [first]}
    ranks = look(viewport={"width": width, "height": 900}).page.locator("tr.row td.c-ranks")
    expect(ranks).to_have_text("1,000/1,000")
    assert ranks.evaluate("(cell) => cell.scrollWidth - cell.clientWidth") <= 0


def test_a_printed_view_is_dark_on_white_and_nothing_is_cut_off(look: Look) -> None:
    page = look(color_scheme="dark", viewport={"width": 794, "height": 1123}).page
    origin = page.evaluate("() => location.origin")
    for path, whole in VIEWS.items():
        page.goto(origin + path)
        expect(page.locator(whole).first).to_be_visible()
        page.emulate_media(media="print")
        assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", path
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0, f"{path} is too wide"
        assert page.evaluate(CUT_OFF) == [], path
        page.emulate_media(media="screen")


@pytest.mark.parametrize(("path", "collection"), [("/jobs", "jobs"), ("/jobs/vision/PyTorchJob/bert-large", "job")])
def test_axe_finds_nothing_among_rows_that_are_old(look: Look, given: Given, path: str, collection: str) -> None:
    tab = look(path)
    rows = {name: [msgspec.to_builtins(row) for row in found] for name, found in given.rows[collection].items()}
    gone = {"collection": collection, "since": 40, "why": "no answer", "isAway": True}
    reload_with(tab, ("snapshot", {"session": SESSION, "rows": rows}), ("gone", gone))
    expect(tab.page.locator(".stale")).to_be_visible()
    assert faults(tab.page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_what_opens_over_a_view(look: Look, scheme: Literal["light", "dark"]) -> None:
    page = look("/jobs/vision/PyTorchJob/bert-large", color_scheme=scheme).page
    for opens in ("Delete", "YAML", "Keys and help"):
        page.get_by_role("button", name=opens).click()
        expect(page.locator("dialog[open]")).to_be_visible()
        assert faults(page) == [], opens
        page.keyboard.press("Escape")
        expect(page.locator("dialog[open]")).to_have_count(0)


def test_axe_finds_nothing_among_a_thousand_ranks(look: Look, given: Given) -> None:
    given.rows["job"] = samples.job(1000)
    page = look("/jobs/vision/PyTorchJob/bert-large").page
    expect(page.locator(".strip [role=option]")).to_have_count(1000)
    assert faults(page) == []


def test_motion_is_left_out_where_the_viewer_wants_none(look: Look) -> None:
    page = look(reduced_motion="reduce").page
    moving = page.evaluate(
        "() => [...document.querySelectorAll('*')].filter((e) => getComputedStyle(e).animationName !== 'none').length"
    )
    assert moving == 0
