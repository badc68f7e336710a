"""The plan: every decision with its reason, in YAML that people edit. Two plans of the same cluster are the same text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from shunter.api.meta import Struct
from shunter.api.titles import object_title
from shunter.errors import InputError
from shunter.migrate.options import Options
from shunter.migrate.own_files import PLAN_HEADER
from shunter.migrate.survey.inventory.classes import JobClass

FORMAT = 1

Strategy = Literal["side-by-side", "replacement"]
"""A: v1 and v2 live beside each other, wave by wave. B: v1 is drained first, then all of it is replaced at once."""
Freeze = Literal["none", "warn", "deny"]
Action = Literal["create", "move", "wait", "archive", "source", "leave"]
"""
create    its TrainJob is made, suspended; the v1 job is not touched
move      the v1 job is suspended (its pods go), its TrainJob is made, checked, and starts
wait      nothing until the v1 job has finished by itself
archive   nothing: it has finished, and a TrainJob made from it would train again
source    nothing in the cluster: a patch for whoever looks after it is written
leave     nothing: it stays on v1
"""


class Item(Struct, frozen=True):
    """One v1 job."""

    kind: str
    namespace: str
    name: str
    sha256: str
    """Of the job as it was planned for: one that was changed since is not touched."""
    state: str
    job_class: JobClass = msgspec.field(name="class")
    action: Action
    why: str
    uid: str = ""
    """The v1 job's: another job of its name is not deleted. Empty when it is not known."""
    train_job: str = ""
    """The name of its twin; it follows from `options.suffix`."""
    owner: str = ""
    decisions: tuple[str, ...] = ()
    """What was decided about its conversion, and what its user should know."""
    options: dict[str, Any] = {}
    """In the place of the plan's own options, for this job."""

    @property
    def title(self) -> str:
        """`PyTorchJob training/bert`."""
        return object_title(self.kind, self.namespace, self.name)


class Wave(Struct, frozen=True):
    """Jobs that are moved together. Waves are moved in the order in which they stand."""

    name: str
    why: str
    jobs: tuple[Item, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything is written, defaults as well: what is not seen is not edited."""

    format: int
    id: str
    """Names the journal; it stays when the plan is edited."""
    strategy: Strategy
    server: str
    cluster: str = ""
    """The uid of its namespace kube-system, by which another cluster is told apart; empty when it may not be read."""
    namespaces: tuple[str, ...] = ()
    """Whose jobs are moved; of all when empty."""
    freeze: Freeze = "none"
    freeze_why: str = ""
    journal_namespace: str = "default"
    """Where the ConfigMaps of the journal are."""
    options: Options = Options()
    unread: tuple[str, ...] = ()
    """What planning could not look at, as the user may not read it."""
    backup: str = ""
    """Where the backup goes that a replacement begins with; relative to the plan."""
    waves: tuple[Wave, ...] = ()

    @property
    def items(self) -> list[Item]:
        """The jobs of all waves, in the order of the text."""
        return [item for wave in self.waves for item in wave.jobs]

    def options_of(self, item: Item) -> Options:
        """The options by which a job is converted: from a cluster nothing comes running. InputError for a wrong one."""
        given = {**msgspec.to_builtins(self.options), **item.options, "suspend": True}
        try:
            return msgspec.convert(given, Options)
        except msgspec.ValidationError as error:
            raise InputError(f"plan: {item.title}: options: {error}.") from error

    def options_of_titles(self, titles: Iterable[str]) -> dict[str, Options]:
        """The same by the titles of jobs; a job that is not in the plan has the plan's own."""
        items = {item.title: item for item in self.items}
        own = msgspec.structs.replace(self.options, suspend=True)
        return {title: self.options_of(items[title]) if title in items else own for title in titles}


def text(plan: Plan) -> str:
    """As `read` takes it: YAML below a comment that explains it."""
    return PLAN_HEADER + msgspec.yaml.encode(msgspec.to_builtins(plan)).decode()


def read(path: Path) -> Plan:
    """A plan as it was edited. InputError naming the field that is wrong."""
    try:
        plan = msgspec.yaml.decode(path.read_bytes(), type=Plan)
    except OSError as error:
        raise InputError(f"--plan {path}: {error.strerror}.", "Write one: shunter migrate plan > plan.yaml") from error
    except msgspec.MsgspecError as error:
        raise InputError(f"--plan {path}: {error}.") from error
    if plan.format != FORMAT:
        raise InputError(f"--plan {path}: format is {plan.format}; this version reads {FORMAT}.", "Plan again.")
    known = set(Options.__struct_encode_fields__)
    seen: set[str] = set()
    for item in plan.items:
        if item.title in seen:
            raise InputError(f"--plan {path}: {item.title} is listed twice.", "Leave it in one wave.")
        seen.add(item.title)
        if unknown := item.options.keys() - known:
            raise InputError(f"--plan {path}: {item.title}: options has no {', '.join(sorted(unknown))}.")
        plan.options_of(item)
    return plan
