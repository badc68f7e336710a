"""The view of the migration from kubeflow.org/v1: with a plan its waves and how far each job is, else the inventory by class.

It reads; what acts are commands, shown to copy.
"""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json, annotations_of
from shunter.api.resources import CONFIG_MAPS, TRAIN_JOBS
from shunter.api.training.kinds import JOB_KINDS
from shunter.errors import ShunterError
from shunter.jobs.logs.visible_text import visible
from shunter.kube.client import Client
from shunter.migrate.conversion.provenance import SOURCE
from shunter.migrate.moving import gathering
from shunter.migrate.moving.burn_down import Progress, Row, progress, twin_stage
from shunter.migrate.moving.journal import Journal, Record
from shunter.migrate.moving.plan import Plan, read
from shunter.migrate.options import Options
from shunter.migrate.own_files import beside
from shunter.migrate.survey.inventory.classes import WAVES
from shunter.operator.overview import job_state
from shunter.page.conversions import NOT_CHECKED, Candidate, Conversion, Conversions, candidate
from shunter.page.views.view import Observed, Parameters, Reading, Rows, View, Viewer, Watch
from shunter.page.wire import MigrationSummary, Move, Wave

STATES = (NOT_CHECKED, "ready", "blocked", "half done", "made", "running", "finished", "compared", "not moved", "gone")
NOTHING_LEFT = ("nothing", "cleanup", "shunter migrate backup")
"""How the next step begins of a job that needs no further one to be done."""
OF_INVENTORY = Options(suspend=True)
PLAN_SECONDS = 5.0
CONVERSION_SECONDS = 5.0
SETTLE_SECONDS = 1.0


class KeptV1(NamedTuple):
    """What stays of a v1 job."""

    place: Json
    """Of the job what tells its state, queue and name."""
    object: bytes
    """What its user wrote, as JSON."""


class ReadPlan(NamedTuple):
    """A plan as its file is now, with what its journal knows."""

    plan: Plan | None
    records: Sequence[Record] = ()
    problem: str = ""


class Migration:
    """The view."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._conversions = Conversions()
        self._candidates: dict[str, tuple[KeptV1, bytes, Candidate]] = {}
        consequence = "v1 jobs of this kind are not counted."
        self.watches = (
            *(
                Watch(
                    kind.resource.plural,
                    kind.resource,
                    kept_v1,
                    ("migration", "waves", "moves"),
                    consequence,
                    is_one_of_several=True,
                )
                for kind in JOB_KINDS
            ),
            Watch("twins", TRAIN_JOBS, kept_twin, ("moves",), "Which TrainJobs were made of v1 jobs is not known."),
        )
        self.readings = (
            Reading("plan", self._plan, PLAN_SECONDS, (CONFIG_MAPS,) if viewer.plan is not None else (), _JOURNAL),
            Reading("conversions", self._converted, CONVERSION_SECONDS, settle=SETTLE_SECONDS),
        )

    def rows(self, observed: Observed, now: float) -> Rows:
        """Without a plan there are no stages of one: then the TrainJobs tell by their marks what was made of which job."""
        jobs = [job.place for job in self._v1(observed).values()]
        twins = list(observed.objects["twins"].values())
        known: Mapping[str, Conversion] = observed.readings.get("conversions", {})
        found: ReadPlan | None = observed.readings.get("plan")
        if self._viewer.plan is not None and found is None:
            return {"migration": (), "waves": (), "moves": ()}
        if found is not None and found.plan is not None:
            steps = progress(found.plan, found.records, jobs, twins)
            moves = [self._planned(found.plan, row, known.get(row.job)) for row in steps.rows]
            titles = {number: (wave.name, wave.why) for number, wave in enumerate(found.plan.waves, start=1)}
            left = _left(steps)
        else:
            by_source = {annotations_of(twin).get(SOURCE, ""): twin for twin in twins}
            moves = [self._found(job, by_source.get(_title(job)), known.get(_title(job))) for job in jobs]
            titles = {number: (name, why) for number, (name, why) in enumerate(WAVES.items(), start=1)}
            left = len(jobs)
        return {
            "migration": (self._summary(moves, left, len(jobs), found),),
            "waves": _waves(moves, titles),
            "moves": sorted(moves, key=lambda move: (move.wave, move.namespace, move.name, move.kind)),
        }

    def _summary(self, moves: Sequence[Move], left: int, total: int, found: ReadPlan | None) -> MigrationSummary:
        counts = Counter(move.state for move in moves)
        plan, file = "", self._viewer.plan
        if file is not None and found is not None:
            plan = f"{file.name}: {found.problem}" if found.problem else file.name
        return MigrationSummary(
            id="migration",
            plan=visible(plan),
            counts=tuple((state, counts[state]) for state in STATES if counts[state]),
            v1_left=left,
            v1_total=max(total, len(moves)),
            commands=tuple(_commands(file, self._viewer.options)),
        )

    def _planned(self, plan: Plan, row: Row, conversion: Conversion | None) -> Move:
        kind, _, place = row.job.partition(" ")
        namespace, _, name = place.partition("/")
        numbers = {wave.name: number for number, wave in enumerate(plan.waves, start=1)}
        state = _before(conversion) if row.stage == "to do" else row.stage
        return _move(numbers[row.wave], kind, namespace, name, state, conversion, row.twin, row.next)

    def _found(self, job: Json, twin: Json | None, conversion: Conversion | None) -> Move:
        kind, metadata = job["kind"], job["metadata"]
        number = [*WAVES].index(conversion.job_class) + 1 if conversion is not None else len(WAVES) + 1
        place = f"--cluster {kind.lower()}/{metadata['name']} -n {metadata['namespace']}{self._viewer.options}"
        if twin is not None:
            state: str = twin_stage(twin)
            shown, following = f"{twin['metadata']['name']} {job_state(twin)}", f"shunter migrate compare {place[10:]}"
        elif conversion is None:
            state, shown, following = _before(conversion), "", ""
        elif conversion.job_class == "finished":
            state, shown, following = (
                "not moved",
                "",
                f"shunter migrate backup backup/ -n {metadata['namespace']}{self._viewer.options}",
            )
        else:
            state, shown = _before(conversion), ""
            following = (
                f"shunter migrate explain {conversion.topics[0]}" if conversion.topics else f"shunter migrate validate {place}"
            )
        return _move(number, kind, metadata["namespace"], metadata["name"], state, conversion, shown, following)

    def _v1(self, observed: Observed) -> dict[str, KeptV1]:
        return {uid: job for kind in JOB_KINDS for uid, job in observed.objects[kind.resource.plural].items()}

    # Readings.

    async def _plan(self, client: Client, observed: Observed) -> ReadPlan | None:
        """None without a plan. What is wrong with its file is shown, and the inventory beside it."""
        file = self._viewer.plan
        if file is None:
            return None
        try:
            plan = await asyncio.to_thread(read, file)
            await gathering.require_cluster_of(client, plan)
            journal = Journal(beside(file, "journal"), plan.id, client, plan.journal_namespace)
            await journal.load()
        except ShunterError as error:
            return ReadPlan(None, problem=error.message)
        return ReadPlan(plan, tuple(journal.records), journal.unread)

    async def _converted(self, client: Client, observed: Observed) -> Mapping[str, Conversion]:
        found: ReadPlan | None = observed.readings.get("plan")
        plan = found.plan if found is not None else None
        options = {item.title: plan.options_of(item) for item in plan.items} if plan is not None else {}
        base = msgspec.structs.replace(plan.options, suspend=True) if plan is not None else OF_INVENTORY
        fresh, candidates = dict[str, tuple[KeptV1, bytes, Candidate]](), list[Candidate]()
        for uid, job in self._v1(observed).items():
            own = options.get(_title(job.place), base)
            mark = msgspec.json.encode(own)
            before = self._candidates.get(uid)
            if before is None or before[0] is not job or before[1] != mark:
                before = job, mark, candidate(msgspec.json.decode(job.object), own)
            fresh[uid] = before
            candidates.append(before[2])
        self._candidates = fresh
        return await self._conversions.of(candidates)


def open_migration(viewer: Viewer, parameters: Parameters) -> View:
    """The view for `VIEWS`."""
    return Migration(viewer)


def kept_v1(job: Json) -> KeptV1:
    """For `Watch.keep`."""
    metadata = {field: value for field, value in job["metadata"].items() if field != "managedFields"}
    fields = ("name", "namespace", "labels", "uid", "creationTimestamp")
    place = {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "metadata": {field: metadata[field] for field in fields if field in metadata},
        "spec": {},
        "status": {"conditions": (job.get("status") or {}).get("conditions") or []},
    }
    return KeptV1(place, msgspec.json.encode({**job, "metadata": metadata}))


def kept_twin(job: Json) -> Json | None:
    """TrainJobs that were made of v1 jobs."""
    if SOURCE not in annotations_of(job):
        return None
    metadata = {
        field: job["metadata"][field] for field in ("name", "namespace", "annotations", "labels") if field in job["metadata"]
    }
    return {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "metadata": metadata,
        "spec": {},
        "status": job.get("status") or {},
    }


def _before(conversion: Conversion | None) -> str:
    """The state of a job of which nothing was made."""
    if conversion is None:
        return NOT_CHECKED
    return "blocked" if conversion.blocking else "ready"


def _move(
    wave: int, kind: str, namespace: str, name: str, state: str, conversion: Conversion | None, twin: str, following: str
) -> Move:
    blocking = conversion.blocking if conversion is not None else ()
    return Move(
        id=f"{kind} {namespace}/{name}",
        wave=wave,
        namespace=namespace,
        name=name,
        kind=kind,
        state=state,
        findings=conversion.findings if conversion is not None else 0,
        blocking=len(blocking),
        first=blocking[0] if blocking else "",
        proof=conversion.proof if conversion is not None else "",
        twin=twin,
        next=following,
    )


def _waves(moves: Sequence[Move], titles: Mapping[int, tuple[str, str]]) -> list[Wave]:
    """Those that have jobs."""
    total, done = Counter(move.wave for move in moves), Counter(move.wave for move in moves if _is_done(move))
    return [
        Wave(
            id=f"wave-{number}",
            number=number,
            title=visible(": ".join(part for part in titles.get(number, ("looking at it", "")) if part)),
            total=total[number],
            done=done[number],
        )
        for number in sorted(total)
    ]


def _is_done(move: Move) -> bool:
    return move.state == "compared" or (move.state in ("not moved", "gone") and move.next.startswith(NOTHING_LEFT))


def _left(steps: Progress) -> int:
    return sum(steps.left.values())


def _commands(plan: Path | None, options: str) -> list[tuple[str, str]]:
    if plan is None:
        return [
            ("See all jobs and their classes", f"shunter migrate inventory --cluster{options}"),
            ("Write a plan", f"shunter migrate plan{options} > plan.yaml"),
            ("Show it here", f"shunter ui --plan plan.yaml{options}"),
        ]
    named = shlex.quote(str(plan))
    return [
        ("Preview what would be done", f"shunter migrate apply --plan {named} --dry-run{options}"),
        ("Execute the plan", f"shunter migrate apply --plan {named}{options}"),
        ("Compare the runs", f"shunter migrate compare --plan {named}{options}"),
        ("Roll back", f"shunter migrate rollback --plan {named}{options}"),
        ("Clean up v1", f"shunter migrate cleanup --plan {named}{options}"),
    ]


def _title(job: Json) -> str:
    return f"{job['kind']} {job['metadata']['namespace']}/{job['metadata']['name']}"


_JOURNAL = "What the journal of the plan knows of its steps is not shown."
