"""Samples the stacks of ranks by exec, of at most 64 pods, eight at a time. Pods that refuse it or lack py-spy are reported.

If the image has no py-spy, it is copied into the container or run from an ephemeral one, if the user allows that.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.doctor import recorder, stacks
from shunter.doctor.case import Case
from shunter.doctor.debug_containers import NoDebugContainerError, debug_container, is_due
from shunter.doctor.evidence import Evidence, Missing, Recording, Sample
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rights import rights_in
from shunter.doctor.waiting import group, has_gpu_waits, progress, trainers
from shunter.jobs.training_pods import training_container
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.pods.remote_command import Commands
from shunter.operator.program_logs.lines import is_warning, parsed

RECORDER = "flight recorder"
MOST_PODS = 64
AT_ONCE = 8
EXEC_SECONDS = 30.0
LAST_LINES = 50
PACE_SAMPLES = 13
"""Further samples, if some ranks wait while the job makes progress: two do not show a straggler."""
PACE_SECONDS = 0.4
PROGRAM = "py-spy"
COPY = "/tmp/shunter-py-spy"
NO_PROGRAM = (
    "py-spy is neither in the image nor on this machine: pip install 'shunter[doctor]', then --allow-copy; or --debug-image IMAGE"
)
NOT_COPIED = "py-spy is not in the image: use --allow-copy to copy it to /tmp of the containers, or --debug-image IMAGE"


class Sampling(NamedTuple):
    """How stacks are taken."""

    seconds: float = 5.0
    """Between the two samples."""
    allow_copy: bool = False
    """Whether py-spy may be copied into containers whose image lacks it."""
    debug_image: str = ""
    """Image with sh and py-spy for ephemeral containers, where py-spy is not in the image and not copied; empty for none."""


TWICE = Sampling()
"""Two samples with what is in the image."""


class Sampler:
    """Samples the running ranks of one job."""

    def __init__(self, client: Client, commands: Commands, evidence: Evidence, options: Sampling) -> None:
        self._client = client
        self._commands = commands
        self._evidence = evidence
        self._options = options
        self._debug: dict[str, str] = {}
        """The ephemeral container of each pod that has one."""
        self._tried: set[str] = set()
        """The pods for which one was requested."""
        self._namespace: str = evidence.job["metadata"]["namespace"]
        self._case = Case(evidence, evidence.at)
        self._program = {pod["metadata"]["name"]: PROGRAM for pod in self._pods}
        self._places: dict[str, list[recorder.Place]] = {}
        """Where to read the flight recorders of each pod's ranks."""
        self._missing: dict[str, Missing] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)

    @property
    def _pods(self) -> list[Json]:
        """The pods to sample; if there are too many, those whose last log line is oldest."""
        running = [pod for pod in self._case.ranked if pod.get("status", {}).get("phase") == "Running"]
        lines = self._case.rank_lines

        def last(pod: Json) -> str:
            own = lines.get(pod["metadata"]["name"])
            return own[-1].at if own else ""

        return sorted(running, key=last)[:MOST_PODS]

    async def sampled(self) -> Evidence:
        """The evidence with two samples, the flight recorders, and more samples if one rank may keep the others waiting."""
        rights = await rights_in(self._client, self._namespace)
        if not rights.allows("create", "pods/exec"):
            return self._with(Missing(what="stacks", why=rights.refusal("create", "pods/exec")))
        first = await self._sample()
        if first is None:
            why = "no Python process runs in the containers that train"
            self._missing.setdefault("stacks", Missing(what="stacks", why=why, is_refused=False))
            return self._with(*self._missing.values())
        await asyncio.sleep(self._options.seconds)
        second = await self._sample()
        samples = [first, second] if second is not None else [first]
        recordings = await self._recordings() if second is not None else ()
        found = msgspec.structs.replace(self._evidence, samples=tuple(samples), recordings=recordings)
        if may_have_straggler(Case(found, found.at)):
            for _ in range(PACE_SAMPLES):
                await asyncio.sleep(PACE_SECONDS)
                if (one := await self._sample(is_blocking=False)) is not None:
                    # Children of a rank do not show its pace, and may be ten times as many processes.
                    samples.append(msgspec.structs.replace(one, processes=tuple(trainers(one))))
        if len(self._case.ranked) > MOST_PODS:
            why = f"{MOST_PODS} of {len(self._case.ranked)} pods were sampled: those that wrote least recently"
            self._missing.setdefault("stacks", Missing(what="stacks", why=why, is_refused=False))
        missing = (*self._evidence.missing, *self._missing.values())
        at = samples[-1].at
        return msgspec.structs.replace(found, samples=tuple(samples), missing=missing, at=at)

    def _with(self, *missing: Missing) -> Evidence:
        return msgspec.structs.replace(self._evidence, missing=(*self._evidence.missing, *missing))

    async def _sample(self, *, is_blocking: bool = True) -> Sample | None:
        """One sample of all pods; None if no stack could be read."""
        pods = self._pods
        samples, last_lines = await asyncio.gather(
            asyncio.gather(*(self._sampled(pod, is_blocking=is_blocking) for pod in pods)),
            asyncio.gather(*(self._last_line(pod) for pod in pods)) if is_blocking else _nothing(),
        )
        processes = tuple(process for one in samples if one is not None for process in one.processes)
        if not any(process.frames for process in processes):
            return None
        names = [pod["metadata"]["name"] for pod in pods]
        lines = {name: line for name, line in zip(names, last_lines, strict=False) if line}
        return Sample(at=self._client.now(), processes=processes, last_lines=lines)

    async def _sampled(self, pod: Json, *, is_blocking: bool) -> stacks.ContainerSample | None:
        name = pod["metadata"]["name"]
        container = training_container(pod)
        async with self._slots:
            try:
                found = await self._look(name, container, is_blocking=is_blocking)
                if not found.has_program and self._program[name] == PROGRAM and (binary := self._copyable()):
                    await self._commands.run(
                        name,
                        self._namespace,
                        container,
                        ["sh", "-c", f"head -c {len(binary)} > {COPY} && chmod 755 {COPY}"],
                        stdin=binary,
                        seconds=EXEC_SECONDS,
                    )
                    self._program[name] = COPY
                    found = await self._look(name, container, is_blocking=is_blocking)
                image = self._options.debug_image
                if is_due(image, has_program=found.has_program, is_tried=name in self._tried):
                    self._tried.add(name)
                    self._debug[name] = await debug_container(self._client, pod, container, image)
                    self._program[name] = PROGRAM
                    found = await self._look(name, container, is_blocking=is_blocking)
            except NoDebugContainerError as error:
                self._missing.setdefault("stacks", Missing(what="stacks", why=f"{name}: {error}", is_refused=False))
                return None
            except (ApiError, TimeoutError) as error:
                is_refused = isinstance(error, ApiError) and error.code in (401, 403)
                why = error.message if isinstance(error, ApiError) else f"pod {name} did not answer within {EXEC_SECONDS:g} s"
                self._missing.setdefault("stacks", Missing(what="stacks", why=why, is_refused=is_refused))
                return None
        if name in self._debug and not found.has_program:
            why = f"py-spy is not in {self._options.debug_image}"
            self._missing.setdefault("stacks", Missing(what="stacks", why=why, is_refused=False))
        elif name in self._debug and not found.processes:
            why = f"{name}: its ephemeral container sees no Python process of container {container}"
            self._missing.setdefault("stacks", Missing(what="stacks", why=why, is_refused=False))
        elif not found.has_program:
            why = NOT_COPIED if _local_program() else NO_PROGRAM
            self._missing.setdefault("stacks", Missing(what="stacks", why=why, is_refused=False))
        elif found.fault and not any(process.frames for process in found.processes):
            self._missing.setdefault("stacks", Missing(what="stacks", why=f"{name}: {found.fault}", is_refused=False))
        return found

    async def _look(self, name: str, container: str, *, is_blocking: bool) -> stacks.ContainerSample:
        words = stacks.command(self._program[name], is_blocking=is_blocking)
        place = self._debug.get(name, container)
        done = await self._commands.run(name, self._namespace, place, words, seconds=EXEC_SECONDS)
        found = stacks.container_sample(name, container, done.output.decode(errors="replace"))
        ranks = trainers(Sample(at=self._evidence.at, processes=found.processes))
        used = Counter(found.sockets.get(one.pid, "") for one in ranks)
        # If ranks share an address, it is unknown whose server listens there.
        sockets = {pid: socket for pid, socket in found.sockets.items() if used[socket] == 1}
        self._places[name] = [
            recorder.Place(one.rank, one.pid, sockets.get(one.pid, "")) for one in ranks if one.rank is not None
        ]
        return found

    def _copyable(self) -> bytes:
        """py-spy of this machine, if it may be copied; empty otherwise."""
        path = _local_program() if self._options.allow_copy else None
        return path.read_bytes() if path is not None else b""

    async def _last_line(self, pod: Json) -> str:
        """The time of the last line of a rank's log that is no warning; empty if there is none."""
        container = training_container(pod)
        chunks = self._client.logs(
            pod["metadata"]["name"], self._namespace, container=container, timestamps=True, tail_lines=LAST_LINES
        )
        try:
            text = b"".join([chunk async for chunk in chunks]).decode(errors="replace")
        except ApiError:
            return ""
        return next((line.at for line in reversed(parsed(text)) if not is_warning(line.text)), "")

    async def _recordings(self) -> tuple[Recording, ...]:
        """The flight recorders of ranks that have a worker server, or whose watchdog has written files. Worker servers without a
        recording are reported."""

        async def of(pod: Json) -> str:
            name = pod["metadata"]["name"]
            async with self._slots:
                try:
                    words = recorder.command("python3", self._places.get(name, []))
                    done = await self._commands.run(name, self._namespace, training_container(pod), words, seconds=EXEC_SECONDS)
                except (ApiError, TimeoutError):
                    return ""
            return done.output.decode(errors="replace")

        places = [place for own in self._places.values() for place in own]
        if not any(place.socket for place in places) and not any(recorder.DUMPED in log.text for log in self._evidence.logs):
            return ()
        outputs = await asyncio.gather(*map(of, self._pods))
        if silent := recorder.silent_ranks(outputs, places):
            why = "; ".join(
                f"{rank_list([rank for rank in silent if silent[rank] == text])}: {text}"
                for text in dict.fromkeys(silent.values())
            )
            self._missing.setdefault(RECORDER, Missing(what=RECORDER, why=why, is_refused=False))
        return tuple(recorder.recordings(outputs))


def may_have_straggler(case: Case) -> bool:
    """Whether some ranks wait and others do not, while the job makes progress."""
    ranks = group(case)
    if ranks is None or not ranks.is_whole or ranks.doing("starting", "rendezvous"):
        return False
    waits = bool(ranks.doing("collective")) or has_gpu_waits(ranks)
    return waits and len(ranks.ranks) > 1 and progress(case, ranks).is_made


def _local_program() -> Path | None:
    """py-spy of this machine: beside our Python, else on the path."""
    beside = Path(sys.executable).parent / PROGRAM
    found = str(beside) if beside.exists() else shutil.which(PROGRAM)
    return Path(found) if found else None


async def _nothing() -> Sequence[str]:
    return ()
