"""A page whose rows, logs and actions are given by the test: the real server and scripts, and no jobs needed for 1,000 rows."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Mapping, Sequence

from e2e.embedded_cluster import EmbeddedCluster
from page.browser import samples
from page.server import KEY, RunningPage
from shunter.kube import kubeconfig
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.page.access.guard import Settings, cookie_name, local_hosts
from shunter.page.access.logins import LocalLogin
from shunter.page.calls import Calls, LogQuery
from shunter.page.server import PageServer
from shunter.page.views.view import Observed, OpenView, PageOptions, Parameters, Reading, Rows, View, Viewer, Watch
from shunter.page.wire import ActionRequest, Answer, JobMigrationDetail, LogLines, Row

LOG = tuple((rank, f"worker-{rank}", 1.7e9, f"step {step} loss 0.4{rank}") for step in range(300) for rank in (0, 3))
FAULT = (3, "worker-3", 1.7e9, "RuntimeError: out of memory")


class Given:
    """Rows by view; change them, and whoever looks sees it within a frame or two."""

    def __init__(self) -> None:
        self.rows: dict[str, Mapping[str, Sequence[Row]]] = {}
        self.lines: Sequence[LogLines] = ()
        self.requests: list[tuple[str, ActionRequest]] = []
        self.queries: list[LogQuery] = []
        self.refusal: ApiError | None = None
        self.pause = 0.0
        """Seconds between two events of a log."""
        self.cuts = 0
        """So many streams of a log break off at their end."""
        self.reset()

    def reset(self) -> None:
        self.rows = {
            "jobs": {"jobs": samples.jobs(30)},
            "job": samples.job(8),
            "cluster": samples.cluster(),
            "migration": samples.migration(),
        }
        self.lines = (LogLines(lines=(*LOG, FAULT)),)
        self.requests.clear()
        self.queries.clear()
        self.refusal = None
        self.pause = 0.0
        self.cuts = 0

    def view_named(self, name: str) -> OpenView | None:
        if name not in self.rows:
            return None

        def open_view(viewer: Viewer, parameters: Parameters) -> View:
            return GivenView(self, name)

        return open_view

    def calls(self) -> Calls:
        return Calls(
            follow_logs=self._follow, log_file=self._file, yaml=self._yaml, act=self._act, job_migration=self._job_migration
        )

    async def _follow(self, viewer: Viewer, job: Parameters, query: LogQuery) -> AsyncGenerator[LogLines]:
        self.queries.append(query)
        for event in self.lines:
            lines = [line for line in event.lines if query.find in line[3] and (not query.ranks or line[0] in query.ranks)]
            yield LogLines(lines=tuple(lines), skipped=event.skipped, notes=event.notes)
            await asyncio.sleep(self.pause)
        if self.cuts:
            self.cuts -= 1
            raise ConnectionResetError

    async def _file(self, viewer: Viewer, job: Parameters, query: LogQuery) -> AsyncGenerator[bytes]:
        for event in self.lines:
            yield "".join(f"{line[3]}\n" for line in event.lines).encode()

    async def _yaml(self, viewer: Viewer, job: Parameters, pod: str, *, reveal: bool) -> str:
        return f"kind: {job.kind}\nmetadata:\n  name: {job.name}\npassword: {'hunter2' if reveal else '(hidden)'}\n"

    async def _act(self, viewer: Viewer, action: str, request: ActionRequest) -> Answer:
        self.requests.append((action, request))
        if self.refusal is not None:
            raise self.refusal
        return Answer(message=f"{action}: done", url="/jobs/vision/PyTorchJob/bert-large-2" if action == "rerun" else "")

    async def _job_migration(self, viewer: Viewer, job: Parameters) -> JobMigrationDetail:
        return samples.job_migration()


class GivenView:
    """Shows what is given, and looks for changes 50 times a second."""

    watches: Sequence[Watch] = ()

    def __init__(self, given: Given, name: str) -> None:
        self._given = given
        self._name = name
        self._counter = itertools.count()
        self.readings: Sequence[Reading] = (Reading("given", read=self._read, seconds=0.02),)

    async def _read(self, client: Client, observed: Observed) -> int:
        return next(self._counter)

    def rows(self, observed: Observed, now: float) -> Rows:
        return self._given.rows[self._name]


def page_with(given: Given, cluster: EmbeddedCluster) -> RunningPage:
    """Not started; the cluster is asked for nothing but the viewer's name."""
    options = PageOptions(cluster="embedded cluster", is_embedded=True)

    def settings(port: int) -> Settings:
        return Settings(local_hosts(port), cookie_name(port, is_secure=False))

    login = LocalLogin(kubeconfig.load(cluster.kubeconfig))
    server = PageServer(login, options, settings, key=KEY, view_named=given.view_named, calls=given.calls)
    return RunningPage(server, cluster)
