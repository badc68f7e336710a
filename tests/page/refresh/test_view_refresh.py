"""A view at work: what the viewer may not list, a cluster that goes away, and rows that say what `shunter jobs` says."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from e2e.embedded_cluster import EmbeddedCluster
from e2e.running_cluster import eventually
from page.jobs import pytorch_job
from page.server import RunningPage, allow, new_user, page_of, rows_of, running
from shunter.api.resources import NAMESPACES
from shunter.kube import kubeconfig
from shunter.kube.client import Client
from shunter.kube.errors import ServerProblem, Status
from shunter.page.access.logins import LocalLogin, TokenLogin
from shunter.page.refresh import slow_readings, view_refresh
from shunter.page.views.view import Observed, Reading, Rows, Watch
from shunter.page.wire import CheckpointRow

pytestmark = pytest.mark.integration


def token_page_of(cluster: EmbeddedCluster, **options: Any) -> RunningPage:
    return page_of(cluster, TokenLogin(kubeconfig.load(cluster.kubeconfig)), is_embedded=False, **options)


def test_who_may_not_list_all_is_shown_the_namespaces_of_the_page(page_cluster: EmbeddedCluster, page_namespace: str) -> None:
    token = {"Authorization": f"Bearer {new_user(page_cluster, 'ann')}"}
    allow(page_cluster, "ann", page_namespace)
    page_cluster.apply(pytorch_job("bert", page_namespace))
    with (
        running(token_page_of(page_cluster, namespaces=(page_namespace,))) as page,
        page.stream("/api/live?view=jobs", token) as stream,
    ):
        seen: dict[str, Any] = {}
        for name, data in stream:
            if name == "snapshot":
                seen = {**seen, "namespaces": data["session"]["namespaces"], "jobs": data["rows"]["jobs"]}
            elif name == "delta":
                seen["jobs"] = data["jobs"]["set"]
            elif name == "hidden":
                seen["hidden"] = data
            if seen.get("jobs") and seen.get("namespaces") == [page_namespace] and seen.get("hidden"):
                break
        (job,) = seen["jobs"]
        assert job["name"] == "bert"
        told = next(one for one in seen["hidden"] if "pytorchjobs" in one["what"])
        assert told["what"].endswith("in all namespaces")
        assert told["consequence"] == f"1 namespace is shown ({page_namespace}); others are hidden from you."
        page_cluster.kubectl("apply", "--dry-run=server", "-f", "-", stdin=told["role"])


OPERATOR = "deployments.apps, leases.coordination.k8s.io in all namespaces"


def test_what_is_read_in_all_namespaces_is_missing_for_who_may_read_some(
    page_cluster: EmbeddedCluster, page_namespace: str
) -> None:
    token = {"Authorization": f"Bearer {new_user(page_cluster, 'ida')}"}
    allow(page_cluster, "ida", page_namespace)
    with (
        running(token_page_of(page_cluster, namespaces=(page_namespace,))) as page,
        page.stream("/api/live?view=cluster", token) as stream,
    ):
        told: dict[str, str] = {}
        while not {"pods in all namespaces", OPERATOR} <= told.keys():
            name, data = next(stream)
            if name == "hidden":
                told = {one["what"]: one["consequence"] for one in data}
        assert (
            told["pods in all namespaces"]
            == "The resources that pods request are not shown: this needs the pods of all namespaces."
        )
        assert told[OPERATOR] == "The state of the operator (installed, ready, leader) is only partly known."
        assert f"pods in namespace {page_namespace}" not in told


def test_who_may_list_nothing_is_told_so_and_not_that_there_are_no_jobs(
    page_cluster: EmbeddedCluster, page_namespace: str
) -> None:
    token = {"Authorization": f"Bearer {new_user(page_cluster, 'ben')}"}
    page_cluster.apply(pytorch_job("bert", page_namespace))
    with (
        running(token_page_of(page_cluster, namespaces=(page_namespace,))) as page,
        page.stream("/api/live?view=jobs", token) as stream,
    ):
        for name, data in stream:
            if name == "snapshot":
                assert data["rows"] == {"jobs": []}
            # Once its last kind is refused there, the namespace is not said to be shown either.
            is_told = name == "hidden" and any(page_namespace in one["what"] for one in data)
            if is_told and not any("is shown" in one["consequence"] for one in data):
                break


@pytest.mark.slow
def test_who_may_not_read_logs_is_told_what_is_missing_for_it(page_cluster: EmbeddedCluster, page_namespace: str) -> None:
    token = {"Authorization": f"Bearer {new_user(page_cluster, 'eve')}"}
    allow(page_cluster, "eve", page_namespace, "pytorchjobs", "pods", "events")
    page_cluster.apply(pytorch_job("bert", page_namespace))
    address = f"/api/live?view=job&namespace={page_namespace}&kind=PyTorchJob&name=bert"
    with running(token_page_of(page_cluster)) as page, page.stream(address, token) as stream:
        told = next(one for name, data in stream if name == "hidden" for one in data if "pods/log" in one["what"])
        assert told["consequence"] == "Logs, and curves that come only from logs, are not shown."
        page_cluster.kubectl("apply", "--dry-run=server", "-f", "-", stdin=told["role"])


def test_a_cluster_that_goes_away_leaves_rows_with_their_age_and_comes_back(tmp_path: Path) -> None:
    cluster = EmbeddedCluster(tmp_path / "state", options=["--simulate"])
    cluster.up()
    try:
        cluster.apply(pytorch_job("bert", "default"))
        with running(page_of(cluster)) as page, page.stream("/api/live?view=jobs", page.cookie()) as stream:
            rows_of(stream, lambda rows: rows.get("jobs"))
            supervisor = cluster.state.read_record()
            assert supervisor is not None
            os.kill(supervisor.supervisor, signal.SIGSTOP)
            os.kill(cluster.children()["apiserver"], signal.SIGKILL)
            name, data = next(
                event for event in stream if event[0] == "snapshot" or lost_rows(event) or is_of_jobs("gone", event)
            )
            assert (name, data["isAway"]) == ("gone", True)
            assert 0 <= data["since"] < 30
            os.kill(supervisor.supervisor, signal.SIGCONT)
            assert next(event for event in stream if is_of_jobs("back", event))
            cluster.apply(pytorch_job("second", "default"))
            rows_of(
                itertools.chain([("snapshot", {"rows": {"jobs": []}})], stream),
                lambda rows: any(row["name"] == "second" for row in rows["jobs"].values()),
            )
    finally:
        record = cluster.state.read_record()
        if record is not None:
            os.kill(record.supervisor, signal.SIGCONT)
        cluster.down()


class Network:
    """Between a page and its cluster. Connections that are cut say nothing any more, and new ones either."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._whole = threading.Event()
        self._whole.set()
        self._dead: set[socket.socket] = set()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._whole.clear()
        self._dead |= self._open

    def mend(self) -> None:
        """Only for new connections."""
        self._whole.set()

    def close(self) -> None:
        self._listener.close()
        for one in [*self._open]:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                self._open |= {near, far}
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError), source, sink:
            while piece := source.recv(65536):
                self._whole.wait()
                if source not in self._dead:
                    sink.sendall(piece)


def test_rows_behind_a_network_that_was_cut_are_old_and_those_that_went_meanwhile_go(
    page_cluster: EmbeddedCluster, page_namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_refresh, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(view_refresh, "ANSWER_SECONDS", 1.0)
    connection = kubeconfig.load(page_cluster.kubeconfig)
    network = Network(*connection.address)
    page_cluster.apply(pytorch_job("goes", page_namespace), pytorch_job("stays", page_namespace))
    login = LocalLogin(dataclasses.replace(connection, server=f"https://127.0.0.1:{network.port}"))
    path = f"/api/live?view=jobs&namespace={page_namespace}"
    try:
        with running(page_of(page_cluster, login)) as page, page.stream(path, page.cookie()) as stream:
            rows_of(stream, lambda rows: len(rows.get("jobs", {})) == 2)
            network.cut()
            _, gone = next(event for event in stream if is_of_jobs("gone", event))
            assert gone["isAway"]
            assert gone["why"].startswith("GET /version: no answer")
            page_cluster.kubectl("delete", "pytorchjob", "goes", "-n", page_namespace)
            network.mend()
            assert next(event for event in stream if lost_rows(event))
    finally:
        network.close()


def lost_rows(event: tuple[str, Any]) -> bool:
    return event[0] == "delta" and bool(event[1]["jobs"]["del"])


def is_of_jobs(name: str, event: tuple[str, Any]) -> bool:
    """Whether it is that event about the rows of jobs, and not about what is read of them."""
    return event[0] == name and event[1]["collection"] == "jobs"


class Namespaces:
    """A view that fails at one object."""

    watches: tuple[Watch, ...] = (Watch("namespaces", NAMESPACES, lambda found: name_row(found), ("names",), "None are shown."),)
    readings: tuple[Reading, ...] = ()

    def rows(self, observed: Observed, now: float) -> Rows:
        return {"names": [*observed.objects["namespaces"].values()]}


def name_row(namespace: dict[str, Any]) -> CheckpointRow:
    name = namespace["metadata"]["name"]
    return CheckpointRow(id=name, step=int(namespace["metadata"]["labels"].get("step", 0)))


def test_an_object_that_a_view_fails_at_is_named_and_takes_no_others_with_it(
    page_cluster: EmbeddedCluster, page_namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    page_cluster.kubectl("label", "namespace", page_namespace, "step=none")
    login = LocalLogin(kubeconfig.load(page_cluster.kubeconfig))
    with (
        running(page_of(page_cluster, login, view_named=lambda _: lambda viewer, parameters: Namespaces())) as page,
        page.stream("/api/live?view=names", page.cookie()) as stream,
    ):
        name, data = next(stream)
        assert name == "snapshot"
        assert "default" in {row["id"] for row in data["rows"]["names"]}
        assert page_namespace not in {row["id"] for row in data["rows"]["names"]}
        told = next(data for name, data in stream if name == "hidden")
        ((what, consequence, role),) = [(one["what"], one["consequence"], one["role"]) for one in told]
        assert (what, role) == (f"Namespace {page_namespace}", "")
        assert consequence.startswith("It could not be shown: ")
        page_cluster.kubectl("label", "namespace", page_namespace, "step=7", "--overwrite")
        told, shown = [{}], None
        while told or shown is None:
            name, data = next(stream)
            if name == "hidden":
                told = data
            elif name == "delta":
                shown = next((row["step"] for row in data["names"]["set"] if row["id"] == page_namespace), shown)
        assert shown == 7


class Failing(Namespaces):
    """A view whose reading fails at first, and whose rows fail as long as it says so."""

    def __init__(self) -> None:
        self.reads, self.has_good_rows = 0, True
        self.readings = (Reading("count", self.read, 0.5),)

    async def read(self, client: Client, observed: Observed) -> int:
        self.reads += 1
        return 1 // (self.reads - 1)

    def rows(self, observed: Observed, now: float) -> Rows:
        if not self.has_good_rows:
            raise KeyError("rows")
        return super().rows(observed, now)


def test_a_bug_in_a_reading_or_in_rows_is_shown_until_it_has_passed(
    page_cluster: EmbeddedCluster, page_namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    view = Failing()
    login = LocalLogin(kubeconfig.load(page_cluster.kubeconfig))
    with (
        running(page_of(page_cluster, login, view_named=lambda _: lambda viewer, parameters: view)) as page,
        page.stream("/api/live?view=names", page.cookie()) as stream,
    ):
        why = next(data["why"] for name, data in stream if name == "gone")
        assert why.startswith("internal error: ZeroDivisionError")
        assert next(event for event in stream if event[0] == "back") == ("back", {"collection": "names"})
        assert view.reads > 1, "the reading is made again"
        view.has_good_rows = False
        page_cluster.kubectl("label", "namespace", page_namespace, "step=8")
        assert next(data["why"] for name, data in stream if name == "gone").startswith("internal error: KeyError")
        view.has_good_rows = True
        page_cluster.kubectl("label", "namespace", page_namespace, "step=9", "--overwrite")
        assert any(event[0] == "back" for event in stream)
    assert caplog.text.count("the page's view fails") == 2


class Refusing(Namespaces):
    """A view whose reading the API server answers with an error, as often as it says so."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.readings = (Reading("why", self.read, 0.2),)

    async def read(self, client: Client, observed: Observed) -> str:
        self.failures -= 1
        if self.failures >= 0:
            raise ServerProblem(Status(code=500, message="etcdserver: request timed out"))
        return "read"


def test_a_reading_that_fails_again_is_said_to_be_old_until_it_is_made(page_cluster: EmbeddedCluster) -> None:
    """Else a list would show the causes of yesterday beside the states of today."""
    view = Refusing(3)
    login = LocalLogin(kubeconfig.load(page_cluster.kubeconfig))
    with (
        running(page_of(page_cluster, login, view_named=lambda _: lambda viewer, parameters: view)) as page,
        page.stream("/api/live?view=names", page.cookie()) as stream,
    ):
        told = next(data for name, data in stream if name == "gone")
        assert (told["why"], told["isAway"]) == ("why: etcdserver: request timed out", False)
        assert next(data for name, data in stream if name == "back") == {"collection": told["collection"]}


def test_a_reading_that_fails_once_is_nothing_to_speak_of(page_cluster: EmbeddedCluster) -> None:
    view = Refusing(1)
    login = LocalLogin(kubeconfig.load(page_cluster.kubeconfig))
    with (
        running(page_of(page_cluster, login, view_named=lambda _: lambda viewer, parameters: view)) as page,
        page.stream("/api/live?view=names", cookie := page.cookie()) as stream,
    ):
        assert next(stream)[0] == "snapshot"
        (shown,) = page.session(cookie)._views.values()
        eventually(lambda: view.failures < 0)
        assert not shown.table.gone


class Frozen(Namespaces):
    """A view whose reading gets no answer until it is released, or is cancelled."""

    def __init__(self) -> None:
        self.begun = 0
        self.answer = asyncio.Event()
        self.readings = (Reading("logs", self.read, 0.1, no_answer="the nodes of its pods do not respond"),)

    async def read(self, client: Client, observed: Observed) -> str:
        self.begun += 1
        await self.answer.wait()
        return "read"


async def release(view: Frozen) -> None:
    view.answer.set()


@pytest.mark.parametrize("longest", [0.6, 600.0])
def test_a_reading_that_no_node_answers_is_said_to_be_old_until_it_is_made(
    page_cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch, longest: float
) -> None:
    """The page of a job on a node whose agent was frozen was live, with the steps and the logs of minutes ago."""
    monkeypatch.setattr(slow_readings, "SLOW_SECONDS", 0.3)
    monkeypatch.setattr(slow_readings, "LONGEST_SECONDS", longest)
    view = Frozen()
    login = LocalLogin(kubeconfig.load(page_cluster.kubeconfig))
    with (
        running(page_of(page_cluster, login, view_named=lambda _: lambda viewer, parameters: view)) as page,
        page.stream("/api/live?view=names", page.cookie()) as stream,
    ):
        told = next(data for name, data in stream if name == "gone")
        assert (told["why"], told["isAway"]) == ("logs: the nodes of its pods do not respond", False)
        if longest < 1:
            eventually(lambda: view.begun > 1)
        page.run(lambda: release(view))
        assert next(data for name, data in stream if name == "back") == {"collection": told["collection"]}


class Troubled(Namespaces):
    """A view whose reading fails as long as it says so, and how."""

    def __init__(self, problem: Exception) -> None:
        self.problem: Exception | None = problem
        self.readings = (Reading("why", self.read, 0.1),)

    async def read(self, client: Client, observed: Observed) -> str:
        if self.problem is not None:
            raise self.problem
        return "read"


def test_a_bug_after_errors_of_the_api_server_is_logged_and_shown(
    page_cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    view = Troubled(ServerProblem(Status(code=500, message="etcdserver: request timed out")))
    login = LocalLogin(kubeconfig.load(page_cluster.kubeconfig))
    with (
        running(page_of(page_cluster, login, view_named=lambda _: lambda viewer, parameters: view)) as page,
        page.stream("/api/live?view=names", cookie := page.cookie()) as stream,
    ):
        told = (data["why"] for name, data in stream if name == "gone")
        assert next(told) == "why: etcdserver: request timed out"
        for bug in (KeyError("cause"), ValueError("cause")):
            view.problem = bug
            assert next(told) == f"internal error: {bug!r}"
        view.problem = None
        assert any(event == ("back", {"collection": "names"}) for event in stream)
        (shown,) = page.session(cookie)._views.values()
        assert not shown.table.gone
    logged = [record.exc_info[0] for record in caplog.records if record.exc_info and "the page's view fails" in record.message]
    assert logged == [KeyError, ValueError], "each once"


@pytest.mark.parametrize("part", ["follow", "allowed"])
def test_a_bug_in_a_watch_or_in_the_review_of_rights_does_not_end_it(
    page_cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    real, calls = getattr(view_refresh, part), list[int]()

    def fails_once(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise KeyError(part)
        return real(*arguments, **options)

    monkeypatch.setattr(view_refresh, part, fails_once)
    monkeypatch.setattr(view_refresh, "RETRY_SECONDS", 0.5)
    monkeypatch.setattr(view_refresh, "REVIEW_SECONDS", 0.5)
    login = LocalLogin(kubeconfig.load(page_cluster.kubeconfig))
    with (
        running(page_of(page_cluster, login, view_named=lambda _: lambda viewer, parameters: Namespaces())) as page,
        page.stream("/api/live?view=names", page.cookie()) as stream,
    ):
        assert next(data["why"] for name, data in stream if name == "gone") == f"internal error: KeyError('{part}')"
        passed = ("back", "snapshot") if part == "follow" else ("back",)
        assert any(name in passed for name, _ in stream), "it is tried again"
        assert len(calls) > 1


def unlisted(name: str) -> Watch:
    """One of several watches, whose list the API server answers with an error that is no refusal."""
    return Watch(
        name,
        NAMESPACES,
        lambda found: name_row(found),
        ("names",),
        "None are shown.",
        label_selector="!!",
        is_one_of_several=True,
    )


def test_one_kind_that_cannot_be_listed_does_not_hide_the_others(page_cluster: EmbeddedCluster) -> None:
    view = Namespaces()
    view.watches = (*Namespaces.watches, unlisted("others"))
    login = LocalLogin(kubeconfig.load(page_cluster.kubeconfig))
    with (
        running(page_of(page_cluster, login, view_named=lambda _: lambda viewer, parameters: view)) as page,
        page.stream("/api/live?view=names", page.cookie()) as stream,
    ):
        told = dict(itertools.islice((event for event in stream if event[0] in ("snapshot", "gone")), 2))
        assert "default" in {row["id"] for row in told["snapshot"]["rows"]["names"]}
        assert "unable to parse" in told["gone"]["why"]


class Listed(Namespaces):
    """A view of two kinds that shows nothing but whether both were listed."""

    watches = (*Namespaces.watches, unlisted("others"))

    def rows(self, observed: Observed, now: float) -> Rows:
        counts = {name: len(scopes) for name, scopes in observed.listed.items()}
        return {"names": [CheckpointRow(id=name, step=count) for name, count in counts.items()]}


def test_a_kind_of_which_there_was_never_a_list_is_not_said_to_be_listed(page_cluster: EmbeddedCluster) -> None:
    """Else the migration says of its jobs that they are gone."""
    login = LocalLogin(kubeconfig.load(page_cluster.kubeconfig))
    with (
        running(page_of(page_cluster, login, view_named=lambda _: lambda viewer, parameters: Listed())) as page,
        page.stream("/api/live?view=names", page.cookie()) as stream,
    ):
        rows = rows_of(stream, lambda rows: rows.get("names", {}).get("namespaces", {}).get("step"))
        assert {name: row["step"] for name, row in rows["names"].items()} == {"namespaces": 1, "others": 0}


def test_rows_are_not_shown_as_none_while_nothing_can_be_listed(page_cluster: EmbeddedCluster) -> None:
    view = Namespaces()
    view.watches = (unlisted("namespaces"),)
    login = LocalLogin(kubeconfig.load(page_cluster.kubeconfig))
    with (
        running(page_of(page_cluster, login, view_named=lambda _: lambda viewer, parameters: view)) as page,
        page.stream("/api/live?view=names", cookie := page.cookie()) as stream,
    ):
        assert next(stream)[0] == "gone"
        (shown,) = page.session(cookie)._views.values()
        page.run(lambda: asyncio.sleep(0.3))
        assert not shown.table.is_complete


class Counted(Namespaces):
    """A view with a reading that says how often it was made."""

    def __init__(self) -> None:
        self.reads = 0
        self.readings = (Reading("count", self.read, 30, settle=0.01),)

    async def read(self, client: Client, observed: Observed) -> int:
        self.reads += 1
        return self.reads


def test_a_reading_is_made_again_for_changes_of_objects_and_not_for_its_own_result(
    page_cluster: EmbeddedCluster, page_namespace: str
) -> None:
    view = Counted()
    login = LocalLogin(kubeconfig.load(page_cluster.kubeconfig))
    with (
        running(page_of(page_cluster, login, view_named=lambda _: lambda viewer, parameters: view)) as page,
        page.stream("/api/live?view=names", page.cookie()) as stream,
    ):
        assert next(stream)[0] == "snapshot"
        eventually(lambda: view.reads)
        before = view.reads
        page.run(lambda: asyncio.sleep(1))
        assert view.reads <= before + 2, "other tests may change a namespace meanwhile"
        page_cluster.kubectl("label", "namespace", page_namespace, "step=8")
        eventually(lambda: view.reads > before)


def test_what_runs_for_a_session_ends_after_its_last_stream(
    page_cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shunter.page.access.sessions.REST_SECONDS", 0.3)
    with running(page_of(page_cluster)) as page:
        cookie = page.cookie()
        session = page.session(cookie)
        with page.stream("/api/live?view=jobs", cookie) as stream:
            assert next(stream)[0] == "snapshot"
            assert session._views
        eventually(lambda: not session.streams)
        assert session._views, "a tab that is opened again soon finds all as it was"
        eventually(lambda: not session._views)
        assert page.ask("GET", "/api/session", headers=cookie).status == 200, "who it was is still known"
        with page.stream("/api/live?view=jobs", cookie) as stream:
            assert next(stream)[0] == "snapshot"


def test_rows_say_what_the_command_says(page: RunningPage, page_cluster: EmbeddedCluster, page_namespace: str) -> None:
    waiting = pytorch_job("waiting", page_namespace)
    waiting["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    suspended = pytorch_job("suspended", page_namespace)
    suspended["spec"]["runPolicy"] = {"suspend": True}
    page_cluster.apply(pytorch_job("well", page_namespace), waiting, suspended)
    with page.stream(f"/api/live?view=jobs&namespace={page_namespace}", page.cookie()) as stream:
        rows = rows_of(stream, lambda rows: is_settled(rows.get("jobs", {})))["jobs"]
    told = json.loads(page_cluster.shunter("jobs", "-n", page_namespace, "-o", "json").stdout)
    assert {row["name"]: compared(row) for row in rows.values()} == {
        job["name"]: (job["kind"], job["why"] and job["cause"], job["remedy"], job["up"], job["wanted"], job["failures"])
        for job in told
    }


def compared(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["kind"], row.get("why", ""), row.get("remedy", ""), row["up"], row["wanted"], row.get("failures", 0)


def is_settled(rows: dict[str, dict[str, Any]]) -> bool:
    by_name = {row["name"]: row for row in rows.values()}
    return (
        by_name.keys() == {"well", "waiting", "suspended"}
        and by_name["well"].get("up") == 3
        and bool(by_name["waiting"].get("why"))
        and bool(by_name["suspended"].get("why"))
    )


def test_a_change_is_told_at_once(page: RunningPage, page_cluster: EmbeddedCluster, page_namespace: str) -> None:
    """Within the pace of the stream of when a watch of the same cluster tells it; with room for a busy machine."""
    page_cluster.apply(pytorch_job("bert", page_namespace))
    with page.stream(f"/api/live?view=jobs&namespace={page_namespace}", page.cookie()) as stream:
        rows_of(stream, lambda rows: rows.get("jobs"))
        begun = time.monotonic()
        page_cluster.kubectl("delete", "pytorchjob", "bert", "-n", page_namespace)
        gone = time.monotonic()
        assert any(map(lost_rows, stream))
        assert time.monotonic() - gone < 1, f"kubectl itself took {gone - begun:.1f} s"
