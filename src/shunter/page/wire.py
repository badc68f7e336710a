"""The types sent to the browser: rows, never Kubernetes objects. The page's scripts use the same names of fields and collections
(assets/js/wire.js describes the types for `tsc --checkJs`), so change both together.

The event stream `GET /api/live?view=VIEW&...` sends these events; data is JSON:

    snapshot   {"session": Session, "rows": {COLLECTION: [row, ...]}}    the first event; replaces everything shown
    delta      {COLLECTION: {"set": [row, ...], "del": [id, ...]}}       a row replaces the one with the same id
    gone       {"collection": ..., "since": seconds, "why": text,         a watch or reading fails: its rows are out of date, and
                "isAway": whether the API server does not answer}         stay, greyed, with their age
    back       {"collection": ...}                                        its rows are up to date again
    hidden     [Hidden, ...]                                              what is missing on the page; all of it each time
    beat       {"now": the server's clock}                                after 15 seconds without another event
    end        {"why": "expired" | "logged out" | "too many streams"}     the last event; do not reconnect
               {"why": "stopped"}                                         the server stops; reconnect, as after a lost connection

| view      | parameters                       | collections                                                       |
|-----------|----------------------------------|-------------------------------------------------------------------|
| jobs      | namespace (repeated; empty: all) | jobs: JobRow                                                      |
| job       | namespace, kind, name            | job: JobDetail (one), ranks: Rank, verdicts, timeline, series,    |
|           |                                  | checkpoints                                                       |
| migration | namespace (repeated)             | migration: MigrationSummary (one), waves: Wave,                   |
|           |                                  | moves: JobMigration                                               |
| cluster   |                                  | cluster: ClusterSummary (one), nodes: NodeRow, waiting: JobRow,   |
|           |                                  | queues: QueueRow                                                  |

Times are seconds since 1970 (0: unknown), sizes are bytes, shares are 0 to 1. Texts come from clusters and programs, are not
trusted, and are shown as text nodes only.
"""

from __future__ import annotations

from typing import Literal

import msgspec

State = Literal["Failed", "Restarting", "Waiting", "Running", "Suspended", "Succeeded"]
"""In the order of the list."""


class Row(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Fields with their default value are left out."""

    id: str
    """Unique in its collection; does not change while the object exists."""


class Session(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The viewer, the cluster and what the page may do; sent with each snapshot."""

    user: str
    """The viewer's name at the API server; empty if unknown."""
    cluster: str
    """Name of the context, or `embedded cluster`."""
    is_read_only: bool
    """No actions are offered: --read-only."""
    version: str
    now: float
    """The server's clock, so that ages are right even if the browser's is wrong."""
    namespaces: tuple[str, ...] = ()
    """The namespaces that are shown because the viewer may not list all; empty: all, or those in the address of the page."""
    can_log_out: bool = False
    """The viewer logged in with a token, and can log in with another."""
    kubectl: str = "kubectl"
    """How kubectl commands for this cluster begin."""
    options: str = ""
    """Options that shunter commands need for this cluster; begins with a blank."""


class Hidden(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something missing on the page: the viewer may not read it or, if `role` is empty, it could not be shown."""

    what: str
    """`pods in namespace vision`."""
    consequence: str
    """What is missing on the page because of it."""
    role: str
    """YAML of a Role or ClusterRole that would allow it, with the command that binds it. Empty: no permission is missing."""
    is_subject: bool = False
    """It is the subject of the view: without it nothing is shown."""


class Progress(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The progress of a training, as reported or logged. The browser counts down to `ends`, and shows the age of the report after
    `stale_after`."""

    position: str = ""
    """`step 120/300`, `step 7 of epoch 2`, `epoch 3` (`progress_text.position_text`)."""
    percentage: int | None = None
    """As reported; else that of the steps, rounded down."""
    ends: float = 0
    loss: float | None = None
    not_finite: Literal["", "NaN", "infinite"] = ""
    """The loss if it is not a finite number."""
    checkpoint_step: int | None = None
    checkpoint_saved: float = 0
    reported: float = 0
    stale_after: float = 0
    source: Literal["report", "log"] = "report"


class JobRow(Row, frozen=True, kw_only=True):
    """A row of the list of jobs."""

    namespace: str
    name: str
    kind: str
    state: State
    reason: str = ""
    up: int | None = None
    """Ranks that are up. None while it is unknown: the pods have not been, or cannot be, read; 0 for a finished job."""
    wanted: int = 0
    """Ranks that the job requests."""
    created: float = 0
    finished: float = 0
    why: str = ""
    """One line: the first cause."""
    remedy: str = ""
    failures: int = 0
    progress: Progress | None = None


ActionName = Literal["suspend", "resume", "rerun", "delete"]


class Action(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An action that this viewer may perform on the job; others are not sent."""

    name: ActionName
    command: str
    """The command line that does the same."""
    asks_name: bool = False
    """The viewer has to type the job's name to confirm."""


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A condition of the job."""

    type: str
    status: str
    reason: str
    message: str
    time: float


class Link(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An http or https address from an annotation or variable (`links.py`)."""

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
    """With a JobSet, the restarts that count towards `restart_limit`; otherwise the sum over all ranks."""
    restart_limit: int | None = None
    """None if the limit counts something else: it is among the facts."""
    message: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    """Title and text: limits, queue, runtime, training run."""
    conditions: tuple[Condition, ...] = ()
    links: tuple[Link, ...] = ()
    actions: tuple[Action, ...] = ()
    kubectl: str = ""
    differing: tuple[str, ...] = ()
    """A text for each rank that differs from the others, worst first: `417 restarted`."""


class Rank(Row, frozen=True, kw_only=True):
    """A cell of the strip. `id` is the pod's uid, or `rank-N` for a rank without a pod."""

    rank: int | None = None
    label: str
    pod: str = ""
    node: str = ""
    state: State | Literal["Gone"]
    """Gone: the job has ended, and the pod is deleted."""
    reason: str = ""
    """Why it is not running: `OOMKilled, exit code 137 (SIGKILL)`."""
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
    """How it differs from the others; empty if it does not."""


class EvidenceLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A piece of evidence of a verdict."""

    source: str
    text: str
    log_rank: int | None = None
    """The `Rank.rank` whose log has it: that of a pod, which may hold several of the ranks that a verdict names."""


class VerdictRow(Row, frozen=True, kw_only=True):
    """A verdict of the doctor, from API objects and logs: the page runs nothing in pods."""

    title: str
    cause: str
    confidence: str
    ranks: tuple[int, ...] = ()
    """Of processes."""
    log_rank: int | None = None
    """The `Rank.rank` of the first of them; None if its pod is gone."""
    evidence: tuple[EvidenceLine, ...] = ()
    remedy: str = ""


class TimelineRow(Row, frozen=True, kw_only=True):
    """An entry of the timeline, oldest first."""

    time: float
    tone: Literal["good", "bad", "plain"] = "plain"
    text: str
    rank: int | None = None
    times: int = 1
    lines: tuple[str, ...] = ()
    """The last lines of a log, as recorded by the operator."""


class SeriesRow(Row, frozen=True, kw_only=True):
    """A curve of at most 2,000 points, with the extremes of each interval kept; at most 8 per job."""

    name: str
    rank: int | None = None
    order: int = 0
    """The place of the metric among all; the first is shown unless another is chosen."""
    source: str
    """`trainerStatus` or `log`."""
    is_counted: bool = False
    """x is the number of the report, as the step is unknown."""
    points: tuple[tuple[float, float | None], ...] = ()
    """x and value; None for a value that is not finite."""


class CheckpointRow(Row, frozen=True, kw_only=True):
    """A checkpoint of the training, newest first."""

    step: int
    saved: float = 0
    size: int | None = None
    place: str = ""
    is_complete: bool = True


class NodeRow(Row, frozen=True, kw_only=True):
    """A node in the Cluster view."""

    name: str
    is_ready: bool
    is_schedulable: bool = True
    gpus: int = 0
    gpus_asked: int | None = None
    """This and the other requested amounts are None if pods of all namespaces cannot be read."""
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
    """This and the next three are None if nodes cannot be read."""
    ready: int | None = None
    gpus: int | None = None
    gpus_asked: int | None = None
    """None also if pods of all namespaces cannot be read."""
    waiting_jobs: int = 0
    waiting_gpus: int = 0
    """GPUs that waiting jobs request."""
    is_waiting_more: bool = False
    """`waiting_gpus` is a lower bound: for some jobs only the runtime specifies the number."""
    operator: str = ""
    """As `cluster_readings.operator_text` returns it."""


class MigrationSummary(Row, frozen=True, kw_only=True):
    """The head of the Migration view."""

    plan: str = ""
    """Name of the file; empty: there is no plan, and jobs are shown by class."""
    counts: tuple[tuple[str, int], ...] = ()
    """State and number, in the order of `migration_status.STATES`."""
    v1_left: int = 0
    v1_total: int = 0
    commands: tuple[tuple[str, str], ...] = ()
    """Purpose and command line: the view itself performs no action."""


class Wave(Row, frozen=True, kw_only=True):
    """A wave of the plan; without a plan, a class of the inventory."""

    number: int
    title: str
    total: int
    done: int


class JobMigration(Row, frozen=True, kw_only=True):
    """How far the migration of a v1 job is. `GET /api/migration/NS/KIND/NAME` returns its `JobMigrationDetail`, which contains
    this row."""

    wave: int
    """Number of a `Wave`; 0 in a `JobMigrationDetail` of a job that is in no plan."""
    namespace: str
    name: str
    kind: str
    state: str
    """One of `migration_status.STATES`."""
    findings: int = 0
    blocking: int = 0
    first: str = ""
    """The message of the first blocking finding."""
    proof: str = ""
    """The highest stage of the proof that holds."""
    train_job: str = msgspec.field(default="", name="twin")
    """The TrainJob that replaces it."""
    next: str = ""
    """What to do next; only with a plan."""
    command: str = ""
    """The command line for it, or the one that explains why it cannot be done; empty if there is none."""


class FindingText(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A finding."""

    id: str
    severity: str
    title: str
    message: str
    field: str
    remedy: str
    is_blocking: bool
    is_suppressed: bool = False


class PodPair(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The pods of a rank in v1 and v2."""

    rank: str
    before: str
    after: str
    differences: tuple[str, ...] = ()


class Stage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A stage of the proof."""

    name: str
    status: str
    """`holds`, `fails` or `not reached`."""
    text: str = ""


class JobMigrationDetail(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The page of one `JobMigration`."""

    migration: JobMigration = msgspec.field(name="move")
    findings: tuple[FindingText, ...] = ()
    before: str = ""
    """YAML of the v1 job, credentials masked."""
    after: str = ""
    """YAML of the TrainJob and its runtime, credentials masked."""
    pods: tuple[PodPair, ...] = ()
    proof: tuple[Stage, ...] = ()
    comparison: tuple[tuple[str, str, str, str], ...] = ()
    """Aspect, before, after, verdict; a row with the reason if runs or other facts are unknown."""
    commands: tuple[tuple[str, str], ...] = ()


class LogLines(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An event `lines` of `GET /api/logs/NS/KIND/NAME?ranks=0,417&since=SECONDS&find=TEXT&follow=true`: at most 64 KiB each and
    20 per second; further lines are skipped, and counted. Lines are cut at 10,000 characters. The stream ends with an event
    `end`."""

    lines: tuple[tuple[int | None, str, float, str], ...]
    """Rank, label, time, text without control characters."""
    skipped: int = 0
    notes: tuple[str, ...] = ()
    """What is not shown, and why: logs that could not be read, ranks beyond the limit."""


class ActionRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The body of `POST /api/actions/{suspend,resume,delete,rerun}`, with the header `X-Shunter: page`. Refused with 409 if the
    job was replaced or has changed: its `resource_version` differs, and so does its `generation` or `state`. Reports of progress
    change only the former."""

    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str
    generation: int = 0
    state: str = ""


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /api/login`, with the header `X-Shunter: page`: the answer sets a cookie. If the page accepts tokens, the
    url of a 401 is `/login`."""

    token: str


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer of every route with an error, and of an action that was performed."""

    message: str
    remedy: str = ""
    url: str = ""
    """The address of the page to go to next, such as that of the new job of a rerun."""
