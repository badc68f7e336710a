"""What goes to the browser: rows, never objects of Kubernetes. The names of fields and collections are known to the page's
scripts (assets/js/wire.js describes the same types for `tsc --checkJs`), so both change together.

The event stream `GET /api/live?view=VIEW&...` sends these events; data is JSON:

    snapshot   {"session": Session, "rows": {COLLECTION: [row, ...]}}    the first event; replaces all that is shown
    delta      {COLLECTION: {"set": [row, ...], "del": [id, ...]}}       a row replaces the one of its id
    gone       {"collection": ..., "since": seconds, "why": text,         a watch broke, or a reading fails: rows stay, greyed,
                "isAway": whether the cluster does not answer}            with their age; before the snapshot: it waits
    back       {"collection": ...}                                        it is whole again
    hidden     [Hidden, ...]                                              what is missing on the page, all of it each time
    beat       {"now": the server's clock}                                after 15 seconds without another event
    end        {"why": "expired" | "logged out" | "too many streams"}     no reconnect: log in again
               {"why": "stopped"}                                         the server: reconnect, as after a break

| view      | parameters                       | collections                                                       |
|-----------|----------------------------------|-------------------------------------------------------------------|
| jobs      | namespace (repeated; empty: all) | jobs: JobRow                                                      |
| job       | namespace, kind, name            | job: JobDetail (one), ranks: Rank, verdicts, timeline, series,    |
|           |                                  | checkpoints                                                       |
| migration | namespace (repeated)             | migration: MigrationSummary (one), waves: Wave, moves: Move       |
| cluster   |                                  | cluster: ClusterSummary (one), nodes: NodeRow, waiting: JobRow,   |
|           |                                  | queues: QueueRow                                                  |

Times are seconds since 1970 (0: unknown), sizes bytes, shares 0 to 1. Texts come from clusters and programs: they are shown as
text nodes, and nothing else.
"""

from __future__ import annotations

from typing import Literal

import msgspec

State = Literal["Failed", "Restarting", "Waiting", "Running", "Suspended", "Succeeded"]
"""In the order of the list."""


class Row(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Fields that have their default are left out."""

    id: str
    """Unique in its collection, and the same for as long as the thing lives."""


class Session(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who looks at what; sent with each snapshot."""

    user: str
    """As the API server knows the viewer; empty where it does not say."""
    cluster: str
    """Name of the context, or `embedded cluster`."""
    is_read_only: bool
    """No actions are offered: --read-only."""
    version: str
    now: float
    """The server's clock, so that ages are right where the browser's is wrong."""
    namespaces: tuple[str, ...] = ()
    """Those that are shown where the viewer may not list all; empty: all are, or those in the address of the page."""
    can_log_out: bool = False
    """The viewer logged in with a token, and can log in with another."""
    kubectl: str = "kubectl"
    """How a command line of kubectl for this cluster begins."""
    options: str = ""
    """What a command line of shunter for this cluster needs; begins with a blank."""


class Hidden(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is missing on the page: the viewer may not read it or, where `role` is empty, it could not be shown."""

    what: str
    """`pods in namespace vision`."""
    consequence: str
    """What is missing on the page for it."""
    role: str
    """YAML of a Role or ClusterRole that would allow it, with the command that binds it. Empty: no permission is missing."""
    is_subject: bool = False
    """It is what the view is about: nothing else of it can be shown."""


class Progress(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How far a training is, only as far as it was reported or logged. The browser counts the time left down to `ends`, and shows
    the age of the report from `stale_after` on."""

    step: int | None = None
    steps: int | None = None
    share: float | None = None
    ends: float = 0
    loss: float | None = None
    not_finite: Literal["", "NaN", "infinite"] = ""
    """What the loss is where it is no finite number."""
    checkpoint_step: int | None = None
    checkpoint_saved: float = 0
    reported: float = 0
    stale_after: float = 0
    source: Literal["report", "log"] = "report"


class JobRow(Row, frozen=True, kw_only=True):
    """A line of the list."""

    namespace: str
    name: str
    kind: str
    state: State
    reason: str = ""
    up: int | None = None
    """None where pods could not be read, or not yet, and the job itself does not tell; 0 of a job that has ended."""
    wanted: int = 0
    created: float = 0
    finished: float = 0
    why: str = ""
    """One line: the first cause."""
    remedy: str = ""
    failures: int = 0
    progress: Progress | None = None


ActionName = Literal["suspend", "resume", "rerun", "delete"]


class Action(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What this viewer may do with the job; others are not sent."""

    name: ActionName
    command: str
    """The command line that does the same."""
    asks_name: bool = False
    """The name must be typed before."""


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A condition of the job."""

    type: str
    status: str
    reason: str
    message: str
    time: float


class Link(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An http or https address out of an annotation or variable that is allowed for it."""

    title: str
    url: str
    host: str


class JobDetail(JobRow, frozen=True, kw_only=True):
    """The head of the Job view."""

    uid: str
    resource_version: str
    generation: int = 0
    """Changes with the spec, not with the status."""
    restarts: int = 0
    """Of a JobSet those that count towards `restart_limit`; of other jobs those of all ranks together."""
    restart_limit: int | None = None
    """None where a limit counts otherwise: it stands among the facts."""
    message: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    """Title and text: limits, queue, runtime, training run."""
    conditions: tuple[Condition, ...] = ()
    links: tuple[Link, ...] = ()
    actions: tuple[Action, ...] = ()
    kubectl: str = ""
    differing: tuple[str, ...] = ()
    """One text for each rank that differs from the others, worst first: `417 restarted`."""


class Rank(Row, frozen=True, kw_only=True):
    """A cell of the strip. `id` is the pod's uid, or `rank-N` for a rank without a pod."""

    rank: int | None = None
    label: str
    pod: str = ""
    node: str = ""
    state: State | Literal["Gone"]
    """Gone: the job has ended, and the pod is deleted."""
    reason: str = ""
    """Why it does not run: `OOMKilled, exit code 137 (SIGKILL)`."""
    restarts: int = 0
    step: int | None = None
    step_seconds: float | None = None
    reported: float = 0
    cpu: float | None = None
    """Cores."""
    memory: int | None = None
    memory_limit: int | None = None
    gpus: int = 0
    differs: str = ""
    """Why it differs from the others; empty where it does not."""


class EvidenceLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A line under a verdict."""

    source: str
    text: str
    rank: int | None = None


class VerdictRow(Row, frozen=True, kw_only=True):
    """A verdict of the doctor, from API evidence and logs; nothing is run in a pod for the page."""

    title: str
    cause: str
    confidence: str
    ranks: tuple[int, ...] = ()
    evidence: tuple[EvidenceLine, ...] = ()
    remedy: str = ""


class TimelineRow(Row, frozen=True, kw_only=True):
    """Something that happened to the job, oldest first."""

    time: float
    tone: Literal["good", "bad", "plain"] = "plain"
    text: str
    rank: int | None = None
    times: int = 1
    lines: tuple[str, ...] = ()
    """Last lines of a log, as the operator kept them."""


class SeriesRow(Row, frozen=True, kw_only=True):
    """A curve: at most 2,000 points, at most 8 of a job, the extremes of each stretch kept."""

    name: str
    rank: int | None = None
    source: str
    """trainerStatus or log."""
    is_counted: bool = False
    """x is but the number of the report."""
    points: tuple[tuple[float, float | None], ...] = ()
    """x and value; None for what is no finite number."""


class CheckpointRow(Row, frozen=True, kw_only=True):
    """A checkpoint of the training, newest first."""

    step: int
    saved: float = 0
    size: int | None = None
    place: str = ""
    is_complete: bool = True


class NodeRow(Row, frozen=True, kw_only=True):
    """A line of the Cluster view."""

    name: str
    is_ready: bool
    is_schedulable: bool = True
    gpus: int = 0
    gpus_asked: int | None = None
    """This and what else is asked for: None where pods of all namespaces could not be read."""
    cpu: float = 0
    cpu_asked: float | None = None
    memory: int = 0
    memory_asked: int | None = None
    pressure: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    """`bert-large 0-3`."""


class QueueRow(Row, frozen=True, kw_only=True):
    """A LocalQueue of Kueue."""

    namespace: str
    name: str
    cluster_queue: str = ""
    pending: int = 0
    admitted: int = 0
    usage: tuple[tuple[str, str, str], ...] = ()
    """Resource, used, nominal."""


class ClusterSummary(Row, frozen=True, kw_only=True):
    """The head of the Cluster view."""

    version: str = ""
    nodes: int | None = None
    """None, as the next three, where nodes could not be read."""
    ready: int | None = None
    gpus: int | None = None
    gpus_asked: int | None = None
    """None also where pods of all namespaces could not be read."""
    waiting_jobs: int = 0
    waiting_gpus: int = 0
    """Asked for by jobs that wait."""
    is_waiting_more: bool = False
    """They wait for that many at least: of some only the runtime says it."""
    operator: str = ""
    """`2 replicas, leader shunter-operator-a, v0.3; webhooks answer`."""


class MigrationSummary(Row, frozen=True, kw_only=True):
    """The head of the Migration view."""

    plan: str = ""
    """Name of the file; empty: there is none, and jobs are shown by class."""
    counts: tuple[tuple[str, int], ...] = ()
    """State and number, in the order of `moves.STATES`."""
    v1_left: int = 0
    v1_total: int = 0
    commands: tuple[tuple[str, str], ...] = ()
    """What for, and the command line: the view itself acts on nothing."""


class Wave(Row, frozen=True, kw_only=True):
    """A wave of the plan, or without one a class of the inventory."""

    number: int
    title: str
    total: int
    done: int


class Move(Row, frozen=True, kw_only=True):
    """A v1 job on its way. Its page is `GET /api/migration/NS/KIND/NAME` -> MoveDetail, which begins with the same row."""

    wave: int
    """Number of a `Wave`; on the page of the job 0, where no plan has it."""
    namespace: str
    name: str
    kind: str
    state: str
    """Of `moves.STATES`; not checked: yet, or it cannot be."""
    findings: int = 0
    blocking: int = 0
    first: str = ""
    """The first blocking finding, in prose."""
    proof: str = ""
    """How far the proof reaches."""
    twin: str = ""
    """The TrainJob in its place."""
    next: str = ""
    """What to do next, in words; only a plan says it."""
    command: str = ""
    """The command line that does it, or explains why it cannot be done; empty where none does."""


class FindingText(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A finding in prose; its id last."""

    id: str
    severity: str
    title: str
    message: str
    field: str
    remedy: str
    is_blocking: bool
    is_suppressed: bool = False


class PodPair(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A rank on both sides."""

    rank: str
    before: str
    after: str
    differences: tuple[str, ...] = ()


class Rung(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A stage of the proof."""

    name: str
    status: str
    """holds, fails, not reached."""
    text: str = ""


class MoveDetail(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The page of one move."""

    move: Move
    findings: tuple[FindingText, ...] = ()
    before: str = ""
    """YAML of the v1 job, credentials masked."""
    after: str = ""
    """YAML of the TrainJob and what belongs to it."""
    pods: tuple[PodPair, ...] = ()
    proof: tuple[Rung, ...] = ()
    comparison: tuple[tuple[str, str, str, str], ...] = ()
    """Metric, before, after, verdict; one row with the reason where the runs are not known."""
    commands: tuple[tuple[str, str], ...] = ()


class LogLines(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An event `lines` of `GET /api/logs/NS/KIND/NAME?ranks=0,417&since=SECONDS&find=TEXT&follow=true`. At most 64 KiB each and
    20 a second; what was left out counts as skipped. A line is cut at 10,000 characters. The stream ends with an event `end`."""

    lines: tuple[tuple[int | None, str, float, str], ...]
    """Rank, label, time, text without control characters."""
    skipped: int = 0
    notes: tuple[str, ...] = ()
    """What is not shown, and why: a log that may not be read, ranks beyond those that are followed."""


class ActionRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The body of `POST /api/actions/{suspend,resume,delete,rerun}`, with the header `X-Shunter: page`. Refused with 409 when the
    job is another one, or has changed: a running job reports its progress all the time, so with `generation` and `state` only
    changes of these two count."""

    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str
    generation: int = 0
    state: str = ""


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /api/login`, with the header `X-Shunter: page`: the answer sets a cookie. Where a page takes tokens, a
    401 has the url `/login`."""

    token: str


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What every route that is no stream and no file says on trouble, and what an action says when it is done."""

    message: str
    remedy: str = ""
    url: str = ""
    """Of the page to go to next: the new job of a rerun."""
