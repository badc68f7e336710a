"""The server on a real (embedded, simulated) cluster: log in, open a view, see rows come, change and go."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from page.jobs import pytorch_job
from page.server import RunningPage, rows_of
from shunter.kube.server_clock import ServerClock
from shunter.page.assets import without_comments

pytestmark = pytest.mark.integration


def test_the_shell_is_served_at_every_view_s_address_and_holds_no_data(page: RunningPage) -> None:
    for path in ("/", "/jobs", "/jobs/vision/PyTorchJob/bert", "/migration", "/cluster", "/login"):
        answer = page.ask("GET", path)
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.body == page.ask("GET", "/").body
    assert page.ask("GET", "/other").status == 404


def test_a_login_code_gives_a_cookie_once(page: RunningPage) -> None:
    code = page.server.new_code()
    assert page.ask("GET", f"/open?code={code}").status == 303
    assert page.ask("GET", f"/open?code={code}").status == 403


def test_who_is_logged_in(page: RunningPage) -> None:
    assert page.ask("GET", "/api/session").status == 401
    answer = page.ask("GET", "/api/session", headers=page.cookie())
    assert answer.json["user"] == "admin"


def test_the_time_is_that_of_the_cluster(page: RunningPage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The times of objects are: by the clock of a laptop that is behind, everything would be 0 seconds old."""
    monkeypatch.setattr("shunter.page.server.BEAT_SECONDS", 0.5)
    monkeypatch.setattr(ServerClock, "now", lambda _: datetime.now(UTC) + timedelta(hours=2))
    with page.stream("/api/live?view=cluster", page.cookie()) as stream:
        times = {name: data["session"]["now"] if name == "snapshot" else data["now"] for name, data in _first_of_both(stream)}
    assert {name: round((at - time.time()) / 3600) for name, at in times.items()} == {"snapshot": 2, "beat": 2}


def _first_of_both(stream: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The first snapshot and the first beat, in any order."""
    wanted = {"snapshot", "beat"}
    for name, data in stream:
        if name in wanted:
            wanted.remove(name)
            yield name, data
        if not wanted:
            return


def test_a_job_comes_runs_and_goes_in_one_stream(page: RunningPage, page_namespace: str) -> None:
    with page.stream(f"/api/live?view=jobs&namespace={page_namespace}", page.cookie()) as stream:
        name, first = next(stream)
        assert name == "snapshot"
        assert first["rows"] == {"jobs": []}
        assert first["session"]["namespaces"] == [], "no others are hidden, the address names one"
        page.cluster.apply(pytorch_job("bert", page_namespace))
        rows = rows_of(stream, lambda rows: any(row["state"] == "Running" for row in rows.get("jobs", {}).values()))
        (row,) = rows["jobs"].values()
        assert (row["name"], row["kind"], row["wanted"], row["namespace"]) == ("bert", "PyTorchJob", 3, page_namespace)
        page.cluster.kubectl("delete", "pytorchjob", "bert", "-n", page_namespace, "--wait=false")
        for name, data in stream:
            if name == "delta" and row["id"] in data.get("jobs", {}).get("del", ()):
                return
    raise AssertionError("the row never went")


def test_a_stream_without_news_has_a_beat_whatever_wakes_it(page: RunningPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shunter.page.server.BEAT_SECONDS", 0.5)
    with page.stream("/api/live?view=cluster", cookie := page.cookie()) as stream:
        # A busy machine may need longer than a beat for the first look.
        assert next(name for name, _ in stream if name != "beat") == "snapshot"
        (shown,) = page.session(cookie)._views.values()

        async def wake() -> None:
            while True:
                for listener in shown.table._listeners:
                    listener.wake()
                await asyncio.sleep(0.1)

        async def begin() -> asyncio.Task[None]:
            return asyncio.create_task(wake())

        async def end() -> None:
            waking.cancel()

        waking = page.run(begin)
        try:
            beat = next(data for name, data in stream if name == "beat")
            assert abs(beat["now"] - time.time()) < 30, "the browser's clock may be set meanwhile"
        finally:
            page.run(end)


def test_modules_are_sent_without_their_comments_and_with_their_lines(page: RunningPage) -> None:
    script = '/** What\n * it is. */\n// Why.\nconst a = (/** @type {any} */ (b)); // kept\nconst url = "http://x/**";\n'
    assert without_comments(script) == '\n\n\nconst a = ((b)); // kept\nconst url = "http://x/**";\n'
    answer = page.ask("GET", "/assets/js/app.js")
    assert (answer.status, b"/**" in answer.body, b"import " in answer.body) == (200, False, True)
    assert page.ask("GET", "/assets/js/wire.js").status == 404
