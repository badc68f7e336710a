"""What the page can be asked beside its event streams: logs, YAML, actions, the page of one move. Each is a function of this
signature, and a field of `Calls` (answers.py has them).

They get the viewer, whose client is the only way to the cluster, and parameters that were checked to be names. They may raise
ShunterError: an ApiError is answered with its own code (403, 404, 409), InputError with 400; message and remedy reach the viewer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import NamedTuple, Protocol

from shunter.page.views.view import Parameters, Viewer
from shunter.page.wire import ActionName, ActionRequest, Answer, LogLines, MoveDetail


class LogQuery(NamedTuple):
    """What is wanted of a job's logs."""

    ranks: frozenset[int] = frozenset()
    """Empty: all of them."""
    since: int = 0
    """Seconds back; 0: from the beginning."""
    find: str = ""
    follow: bool = False


class FollowLogs(Protocol):
    """`GET /api/logs/NS/KIND/NAME`: each LogLines is one event; the caller sends them, and `end` when there are no more."""

    def __call__(self, viewer: Viewer, job: Parameters, query: LogQuery) -> AsyncGenerator[LogLines]:
        """To be closed. NotFound and InputError come with its first piece, as the job is looked up then."""


class LogFile(Protocol):
    """`GET /api/logs/NS/KIND/NAME.txt`: the whole text, in pieces."""

    def __call__(self, viewer: Viewer, job: Parameters, query: LogQuery) -> AsyncGenerator[bytes]:
        """To be closed. NotFound and InputError come with its first piece, as the job is looked up then."""


class Yaml(Protocol):
    """`GET /api/yaml/NS/KIND/NAME[/pods/POD]?reveal=true`: credentials are hidden unless revealed. `pod` is empty for a job."""

    async def __call__(self, viewer: Viewer, job: Parameters, pod: str, *, reveal: bool) -> str:
        """InputError for a pod that is not of this job; NotFound where the job or the pod is gone."""


class Act(Protocol):
    """`POST /api/actions/ACTION`: makes the request, with uid and resourceVersion as its preconditions. Is not called where the
    page is read-only."""

    async def __call__(self, viewer: Viewer, action: ActionName, request: ActionRequest) -> Answer:
        """Conflict when the job is not as the viewer saw it; InputError for an action that makes no sense for the job."""


class Move(Protocol):
    """`GET /api/migration/NS/KIND/NAME`."""

    async def __call__(self, viewer: Viewer, job: Parameters) -> MoveDetail:
        """Of one v1 job in the cluster. NotFound when it is gone; InputError for a job of another kind."""


class Calls(NamedTuple):
    """The functions of all routes."""

    follow_logs: FollowLogs
    log_file: LogFile
    yaml: Yaml
    act: Act
    move: Move
