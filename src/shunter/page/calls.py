"""The signatures of what the page serves besides event streams of views: logs, YAML, actions, the migration of one v1 job.
Each is a field of `Calls`, and a function in answers.py.

They get the viewer, whose client is the only way to the cluster, and checked parameters. They may raise ShunterError: an ApiError
is answered with its own code (403, 404, 409), InputError with 400, each with message and remedy.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import NamedTuple, Protocol

from shunter.page.views.view import Parameters, Viewer
from shunter.page.wire import ActionName, ActionRequest, Answer, JobMigrationDetail, LogLines


class LogQuery(NamedTuple):
    """Which parts of a job's logs to send."""

    ranks: frozenset[int] = frozenset()
    """Empty: all."""
    since: int = 0
    """Seconds back; 0: from the beginning."""
    find: str = ""
    follow: bool = False


class FollowLogs(Protocol):
    """`GET /api/logs/NS/KIND/NAME`: each LogLines is one event; the caller sends them, and `end` when there are no more."""

    def __call__(self, viewer: Viewer, job: Parameters, query: LogQuery) -> AsyncGenerator[LogLines]:
        """The caller closes it. NotFound and InputError are raised with the first piece, as the job is looked up then."""


class LogFile(Protocol):
    """`GET /api/logs/NS/KIND/NAME.txt`: the whole text, in pieces."""

    def __call__(self, viewer: Viewer, job: Parameters, query: LogQuery) -> AsyncGenerator[bytes]:
        """The caller closes it. NotFound and InputError are raised with the first piece, as the job is looked up then."""


class Yaml(Protocol):
    """`GET /api/yaml/NS/KIND/NAME[/pods/POD]?reveal=true`: credentials are hidden unless revealed. `pod` is empty for a job."""

    async def __call__(self, viewer: Viewer, job: Parameters, pod: str, *, reveal: bool) -> str:
        """Raises InputError for a pod of another job, and NotFound if the job or the pod does not exist."""


class Act(Protocol):
    """`POST /api/actions/ACTION`: performs the action, with uid and resourceVersion as preconditions. Not called if the page is
    read-only."""

    async def __call__(self, viewer: Viewer, action: ActionName, request: ActionRequest) -> Answer:
        """Raises Conflict if the job has changed since it was shown, and InputError for an action that its state excludes."""


class ReadJobMigration(Protocol):
    """`GET /api/migration/NS/KIND/NAME`."""

    async def __call__(self, viewer: Viewer, job: Parameters) -> JobMigrationDetail:
        """The migration of one v1 job in the cluster. Raises NotFound if there is none, and InputError for another kind."""


class Calls(NamedTuple):
    """The functions of all routes."""

    follow_logs: FollowLogs
    log_file: LogFile
    yaml: Yaml
    act: Act
    job_migration: ReadJobMigration
