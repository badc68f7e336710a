"""The plan: every decision with its reason, in YAML that people edit. Two plans of the same cluster are the same text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Struct
from shunter.api.titles import object_title
from shunter.api.training.kinds import JOB_KINDS
from shunter.errors import InputError
from shunter.migrate.options import Options
from shunter.migrate.own_files import PLAN_HEADER
from shunter.migrate.survey.inventory.classes import JobClass

FORMAT = 1
_ID = late_pattern(r"[a-z0-9](?:[-a-z0-9]{0,40}[a-z0-9])?")
"""What names of ConfigMaps and of the journal's file may hold."""
_KINDS = tuple(kind.resource.kind for kind in JOB_KINDS)

Strategy = Literal["side-by-side", "replacement"]
"""side-by-side: v1 and v2 coexist, and jobs are moved wave by wave. replacement: v1 is drained, then all jobs are replaced at
once."""
Freeze = Literal["none", "warn", "deny"]
Action = Literal["create", "move", "wait", "archive", "source", "leave"]
"""
create    the TrainJob is created suspended; the v1 job is not changed
move      the TrainJob is created, the v1 job is suspended (its pods end), and the TrainJob starts
wait      nothing until the v1 job has finished
archive   nothing: it has finished, and a TrainJob would train again
source    nothing in the cluster: a patch for the job's owner is written
leave     nothing: it stays on v1
"""


class Item(Struct, frozen=True):
    """One v1 job."""

    kind: str
    namespace: str
    name: str
    sha256: str
    """The digest of the job when it was planned; if it has changed since, nothing is done."""
    state: str
    job_class: JobClass = msgspec.field(name="class")
    action: Action
    why: str
    uid: str = ""
    """The v1 job's; another job of the same name is not deleted. Empty if unknown."""
    train_job: str = ""
    """The name of its TrainJob, determined by `options.suffix`."""
    owner: str = ""
    decisions: tuple[str, ...] = ()
    """Decisions about its conversion, and findings."""
    options: dict[str, Any] = {}
    """Options for this job, which override the plan's."""

    @property
    def title(self) -> str:
        """`PyTorchJob training/bert`."""
        return object_title(self.kind, self.namespace, self.name)


class Wave(Struct, frozen=True):
    """Jobs that are moved together. Waves are moved in the plan's order."""

    name: str
    why: str
    jobs: tuple[Item, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A plan. All fields are written to the file, also those with default values, so that people see what they can edit."""

    format: int
    id: str
    """Identifies the journal; it stays the same when the plan is edited."""
    strategy: Strategy
    server: str
    cluster: str = ""
    """The uid of its namespace kube-system, which identifies the cluster; empty if it may not be read."""
    namespaces: tuple[str, ...] = ()
    """Namespaces whose jobs are moved; all if empty."""
    freeze: Freeze = "none"
    freeze_why: str = ""
    journal_namespace: str = "default"
    """The namespace of the journal's ConfigMaps."""
    options: Options = Options()
    unread: tuple[str, ...] = ()
    """What the user may not read, so that the plan does not consider it."""
    backup: str = ""
    """The directory of the backup with which a replacement begins, relative to the plan."""
    waves: tuple[Wave, ...] = ()

    @property
    def items(self) -> list[Item]:
        """The jobs of all waves, in order."""
        return [item for wave in self.waves for item in wave.jobs]

    def options_of(self, item: Item) -> Options:
        """The options for the conversion of a job; the TrainJob is always suspended. InputError for an invalid option."""
        given = {**msgspec.to_builtins(self.options), **item.options, "suspend": True}
        try:
            return msgspec.convert(given, Options)
        except msgspec.ValidationError as error:
            raise InputError(f"plan: {item.title}: options: {error}.") from error

    def options_of_titles(self, titles: Iterable[str]) -> dict[str, Options]:
        """The options by the titles of jobs; a job that is not in the plan has the plan's options."""
        items = {item.title: item for item in self.items}
        own = msgspec.structs.replace(self.options, suspend=True)
        return {title: self.options_of(items[title]) if title in items else own for title in titles}


def text(plan: Plan) -> str:
    """The YAML of a plan, below a comment that explains it."""
    return PLAN_HEADER + msgspec.yaml.encode(msgspec.to_builtins(plan)).decode()


def read(path: Path) -> Plan:
    """The plan in a file. InputError that names the invalid field."""
    try:
        plan = msgspec.yaml.decode(path.read_bytes(), type=Plan)
    except OSError as error:
        raise InputError(f"--plan {path}: {error.strerror}.", "Write one: shunter migrate plan > plan.yaml") from error
    except msgspec.MsgspecError as error:
        raise InputError(f"--plan {path}: {error}.") from error
    if plan.format != FORMAT:
        raise InputError(f"--plan {path}: format is {plan.format}; this version reads {FORMAT}.", "Plan again.")
    if not _ID.fullmatch(plan.id):
        raise InputError(f"--plan {path}: id is {plan.id!r}; it names the journal.", "Leave it as `migrate plan` wrote it.")
    known = set(Options.__struct_encode_fields__)
    titles: set[str] = set()
    for item in plan.items:
        if item.title in titles:
            raise InputError(f"--plan {path}: {item.title} is listed twice.", "Leave it in one wave.")
        titles.add(item.title)
        if item.kind not in _KINDS:
            raise InputError(f"--plan {path}: {item.title}: kind is none of v1: {', '.join(_KINDS)}.")
        if unknown := item.options.keys() - known:
            raise InputError(f"--plan {path}: {item.title}: options has no {', '.join(sorted(unknown))}.")
        plan.options_of(item)
    names = [wave.name for wave in plan.waves]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"--plan {path}: two waves are called {twice[0]}.", "Rename one: waves are moved in order.")
    return plan
