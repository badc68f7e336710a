"""Whatever the order of changes, and however seldom a listener reads: what it was told ends in the rows as they are."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.page.refresh.live import Listener, Table, encoded
from shunter.page.refresh.view_refresh import PACE_SECONDS, pause_after
from shunter.page.wire import Hidden, NodeRow, Row, Session

FACTS = Session(user="ann", cluster="prod", is_read_only=False, version="1", now=0.0)
COLLECTIONS = ("nodes", "waiting")


def row(id: int, gpus: int) -> NodeRow:
    return NodeRow(id=str(id), name=f"node-{id}", is_ready=True, gpus=gpus)


ROWS = st.fixed_dictionaries({name: st.dictionaries(st.integers(0, 5), st.integers(0, 3)) for name in COLLECTIONS}).map(
    lambda found: {name: [row(id, gpus) for id, gpus in rows.items()] for name, rows in found.items()}
)


class Page:
    """The rules by which the page's scripts take events."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}

    def take(self, listener: Listener) -> list[str]:
        events = [(name, msgspec.json.decode(msgspec.json.encode(data))) for name, data in listener.take(0.0)]
        for name, data in events:
            if name == "snapshot":
                self.rows = {collection: {one["id"]: one for one in rows} for collection, rows in data["rows"].items()}
            elif name == "delta":
                for collection, changes in data.items():
                    shown = self.rows.setdefault(collection, {})
                    shown.update({one["id"]: one for one in changes["set"]})
                    for id in changes["del"]:
                        shown.pop(id, None)  # a row that came and went between two reads was never told
        return [name for name, _ in events]


def as_json(rows: dict[str, list[Row]]) -> dict[str, dict[str, Any]]:
    return {name: {one.id: msgspec.to_builtins(one) for one in found} for name, found in rows.items()}


@given(st.lists(st.tuples(ROWS, st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_any_order_of_deltas_ends_in_the_snapshot(steps: list[tuple[dict[str, list[Row]], bool, bool]]) -> None:
    table = Table()
    listener, page = table.listen(lambda: FACTS), Page()
    for rows, is_read, is_restarted in steps:
        table.replace(rows)
        if is_restarted:
            table.restart()
        if is_read:
            page.take(listener)
    page.take(listener)
    assert page.rows == as_json(steps[-1][0])
    late = Page()
    assert late.take(table.listen(lambda: FACTS)) == ["snapshot"]
    assert late.rows == page.rows


def test_nothing_is_sent_before_everything_was_read_once() -> None:
    table = Table()
    listener = table.listen(lambda: FACTS)
    assert listener.take(0.0) == []
    table.replace({"nodes": []})
    assert [name for name, _ in listener.take(0.0)] == ["snapshot"]


def test_rows_that_are_the_same_are_not_sent_again() -> None:
    table = Table()
    listener = table.listen(lambda: FACTS)
    assert table.replace({"nodes": [row(1, 0)]})
    listener.take(0.0)
    assert not table.replace({"nodes": [row(1, 0)]})
    assert listener.take(0.0) == []
    assert table.replace({"nodes": [row(1, 1)]})
    assert table.replace({"nodes": []})


def test_a_listener_that_does_not_read_holds_no_more_than_ids() -> None:
    table = Table()
    listener, page = table.listen(lambda: FACTS), Page()
    table.replace({"nodes": [row(id, 0) for id in range(10)]})
    page.take(listener)
    for change in range(1000):
        table.replace({"nodes": [row(id, change) for id in range(10)]})
    ((name, delta),) = listener.take(0.0)
    assert name == "delta"
    assert [one.gpus for one in delta["nodes"]["set"]] == [999] * 10


def test_a_break_is_told_once_with_its_age_and_that_it_has_passed() -> None:
    table = Table()
    listener = table.listen(lambda: FACTS)
    table.replace({"nodes": []})
    listener.take(100.0)
    table.broken("watch", ["nodes"], 88.0, "no answer")
    table.broken("watch", ["nodes"], 95.0, "no answer")
    told = {"collection": "nodes", "since": 12.0, "why": "no answer", "isAway": True}
    assert listener.take(100.0) == [("gone", told)]
    assert listener.take(101.0) == []
    table.whole("watch")
    assert listener.take(102.0) == [("back", {"collection": "nodes"})]


@pytest.mark.parametrize("is_away_first", [False, True])
async def test_a_break_that_has_another_reason_now_is_told_again_with_its_whole_age(is_away_first: bool) -> None:
    table = Table()
    listener = table.listen(lambda: FACTS)
    table.replace({"nodes": []})
    table.broken("watch", ["nodes"], 88.0, "first", is_away=is_away_first)
    assert listener.take(100.0)[1][1]["isAway"] is is_away_first
    table.broken("watch", ["nodes"], 95.0, "second", is_away=not is_away_first)
    assert await listener.wait(5), "the listener is woken"
    told = {"collection": "nodes", "since": 12.0, "why": "second", "isAway": not is_away_first}
    assert listener.take(100.0) == [("gone", told)]
    table.broken("watch", ["nodes"], 96.0, "second", is_away=not is_away_first)
    assert listener.take(100.0) == []


def test_a_collection_is_up_to_date_again_when_the_last_of_its_breaks_has_passed() -> None:
    table = Table()
    listener = table.listen(lambda: FACTS)
    table.replace({"nodes": [], "waiting": []})
    listener.take(100.0)
    table.broken("trainjobs", ["waiting"], 88.0, "no answer")
    table.broken("a bug", ["nodes", "waiting"], 90.0, "internal error", is_away=False)
    told = {data["collection"]: (data["since"], data["why"], data["isAway"]) for _, data in listener.take(100.0)}
    assert told == {"waiting": (12.0, "no answer", True), "nodes": (10.0, "internal error", False)}
    table.whole("pytorchjobs")
    assert listener.take(100.0) == []
    table.whole("trainjobs")
    left = {"collection": "waiting", "since": 10.0, "why": "internal error", "isAway": False}
    assert listener.take(100.0) == [("gone", left)]
    table.whole("a bug")
    assert listener.take(100.0) == [("back", {"collection": "nodes"}), ("back", {"collection": "waiting"})]


def test_a_snapshot_is_followed_by_what_is_broken_and_hidden() -> None:
    table = Table()
    table.replace({"nodes": []})
    table.broken("watch", ["nodes"], 88.0, "no answer")
    table.hide((Hidden(what="pods", consequence="none are shown", role=""),))
    assert [name for name, _ in table.listen(lambda: FACTS).take(100.0)] == ["snapshot", "gone", "hidden"]


def test_an_end_is_the_last_event() -> None:
    table = Table()
    listener = table.listen(lambda: FACTS)
    table.replace({"nodes": [row(1, 0)]})
    table.end("expired")
    assert listener.take(0.0) == [("end", {"why": "expired"})]


async def test_waiting_ends_with_news_or_with_the_time() -> None:
    table = Table()
    listener = table.listen(lambda: FACTS)
    table.replace({"nodes": []})
    listener.take(0.0)
    assert not await listener.wait(0.01)
    table.replace({"nodes": []})
    table.whole("nothing")
    table.hide(())
    assert not await listener.wait(0.01), "nothing has changed"
    waiting = asyncio.ensure_future(listener.wait(30))
    await asyncio.sleep(0)
    table.replace({"nodes": [row(1, 0)]})
    assert await waiting


def test_an_event_is_one_block_whatever_is_in_it() -> None:
    hostile = NodeRow(id="1", name="a\n\nevent: end\r\ndata: {}\u2028", is_ready=True)
    block = encoded(("delta", {"nodes": {"set": [hostile], "del": []}}))
    assert block.count(b"\n") == 3
    assert b"\r" not in block


def test_what_changes_no_row_delays_the_next_change_by_little() -> None:
    assert pause_after(0.004, has_changed=True) == PACE_SECONDS
    assert pause_after(0.004, has_changed=False) == pytest.approx(0.02)
    assert pause_after(1.0, has_changed=False) == PACE_SECONDS
