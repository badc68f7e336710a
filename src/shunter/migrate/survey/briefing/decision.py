"""The verdict, waves, checklist and success metrics of a report, each with its figures. Pure."""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple

from shunter.api.formats.counts import count
from shunter.migrate.run_verdicts import PASSED
from shunter.migrate.survey.briefing.facts import Facts
from shunter.migrate.survey.inventory.classes import WAVES
from shunter.migrate.survey.scan.python_code import CALL, IMPORT

Tone = Literal["good", "mild", "bad", ""]


class Verdict(NamedTuple):
    """The verdict at the top of the page; the tone is its colour."""

    word: str
    sentence: str
    tone: Tone


class Wave(NamedTuple):
    """One group of jobs of a plan. `effort` is in points, `gpus` is the number of devices requested."""

    number: int
    name: str
    why: str
    jobs: int
    effort: int
    gpus: float


class Point(NamedTuple):
    """One line of the checklist; `is_done` is None if only people can tell."""

    phase: str
    text: str
    is_done: bool | None
    figure: str


class Metric(NamedTuple):
    """One target and its current state."""

    name: str
    target: str
    now: str
    tone: Tone


def verdict(facts: Facts) -> Verdict:
    """The verdict; never a good one if part of the input could not be read."""
    of_jobs, blocking = _verdict_on_jobs(facts), len(facts.blocking_faults)
    if not blocking:
        return of_jobs
    verb = "blocks" if blocking == 1 else "block"
    unread = f"{count(blocking, 'finding')} of the input {verb}: there may be jobs that were not read."
    if not facts.unfinished:
        return Verdict("Not all was read", f"No unfinished v1 job was seen, but {unread}", "bad")
    if of_jobs.tone == "good":
        return Verdict("Partly ready", f"{of_jobs.sentence} But {unread}", "mild")
    return of_jobs._replace(sentence=f"{of_jobs.sentence} {unread}")


def _verdict_on_jobs(facts: Facts) -> Verdict:
    unfinished = facts.unfinished
    ready = [job for job in unfinished if job.entry.job_class in ("simple", "standard") and job.is_proved and not job.is_refuted]
    blocked, owned = facts.of_class("blocked"), facts.of_class("owned")
    if not unfinished:
        return Verdict("Nothing to move", "No unfinished v1 job is left.", "good")
    if len(ready) == len(unfinished):
        return Verdict(
            "Ready",
            f"All of {count(len(ready), 'unfinished job')} keep their meaning in v2, and their pods were compared.",
            "good",
        )
    parts = [f"{len(ready)} of {len(unfinished)} unfinished jobs can move as they are"]
    if look := len(unfinished) - len(ready) - len(blocked) - len(owned):
        parts.append(f"{look} {'needs' if look == 1 else 'need'} a look")
    if blocked:
        parts.append(f"{len(blocked)} {'is' if len(blocked) == 1 else 'are'} blocked")
    if owned:
        parts.append(f"{len(owned)} {'has' if len(owned) == 1 else 'have'} to change at the source")
    sentence = "; ".join(parts) + "."
    is_partly_ready = len(unfinished) > len(blocked) + len(owned)
    return Verdict("Partly ready", sentence, "mild") if is_partly_ready else Verdict("Not ready", sentence, "bad")


def waves(facts: Facts) -> list[Wave]:
    """The waves of a plan (`shunter migrate plan`) that have jobs."""
    listed: list[Wave] = []
    for name, why in WAVES.items():
        jobs = facts.of_class(name)
        if jobs:
            effort, gpus = sum(job.entry.effort for job in jobs), sum(job.entry.gpus for job in jobs)
            listed.append(Wave(len(listed) + 1, name, why, len(jobs), effort, gpus))
    return listed


def metrics(facts: Facts) -> list[Metric]:
    """The success metrics, in the order of the page."""
    unfinished, converted = facts.unfinished, facts.converted
    proved = [job for job in converted if job.is_proved]
    lines = facts.lines
    return [
        Metric(
            "Conversion rate",
            "100 % of unfinished jobs",
            f"{_share(len(converted), len(unfinished))} ({len(converted)} of {len(unfinished)})",
            "mild" if facts.blocking_faults and len(converted) == len(unfinished) else _tone(len(converted), len(unfinished)),
        ),
        Metric(
            "Functional parity",
            "no unexplained difference of pods",
            f"{_share(len(proved), len(converted))} ({len(proved)} of {len(converted)} compared pod by pod)",
            _tone(len(proved), len(converted)),
        ),
        _performance(facts),
        Metric(
            "Configuration",
            "35 to 46 % fewer lines of YAML",
            (
                f"{lines.before:,} lines before; {lines.train_jobs:,} in TrainJobs ({_change(lines.saved_per_job)}) and "
                f"{lines.runtimes:,} in {count(lines.runtime_count, 'runtime')}: {_change(lines.saved)} in all"
            ),
            "good" if lines.saved >= 0.35 else "",
        ),
        Metric(
            "APIs",
            "one kind for all frameworks",
            f"{count(len(facts.fleet.kinds), 'kind')} in use, then TrainJob alone",
            "good",
        ),
        Metric(
            "GPU-hours used by these jobs",
            "for scale",
            f"{facts.fleet.gpu_hours:,.1f}" if facts.is_live else "known of jobs in a cluster only (`--cluster`)",
            "",
        ),
    ]


def checklist(facts: Facts) -> list[Point]:
    """The checklist, phase after phase."""
    total, unfinished, converted = len(facts.jobs), facts.unfinished, facts.converted
    proved = sum(job.is_proved for job in converted)
    compared = [job for job in converted if job.runs]
    good = sum(all(run.verdict in PASSED for run in job.runs) for job in compared)
    unread = ", and not all of the input was read" if facts.blocking_faults else ""
    is_clean = None if facts.standing_references is None else not facts.standing_references
    before, during, after = "Before the move", "During the move", "After the move"
    return [
        _assessed(before, facts),
        Point(before, "All v1 jobs inventoried and classified", not unread, count(total, "job") + unread),
        Point(before, "Other references to v1 found", facts.references is not None or None, _references(facts)),
        Point(before, "Conversion tried on every job", True, f"{len(converted)} of {len(unfinished)} have a usable result"),
        Point(before, "Strategy chosen, plan written", None, "`shunter migrate plan`"),
        Point(before, "Team knows TrainJobs and the new SDK", None, "sdk.html"),
        Point(during, "Pods of each converted job compared with v1", proved == len(converted), f"{proved} of {len(converted)}"),
        Point(
            during,
            "Each converted job run beside the original",
            len(compared) == len(converted),
            f"{len(compared)} of {len(converted)}; `shunter migrate test`, `compare`",
        ),
        Point(
            during,
            "Results and throughput within tolerance",
            good == len(compared) if compared else None,
            f"{good} of {len(compared)}",
        ),
        Point(during, "No resource asked for is lost or added", proved == len(converted), "part of the comparison of pods"),
        Point(
            after,
            "No unfinished v1 job left",
            not unfinished and not unread if facts.is_live else None,
            f"{len(unfinished)} left{unread}",
        ),
        Point(after, "Monitoring, alerts, policies and quotas updated", is_clean, _references(facts)),
        Point(after, "Pipelines and programs use the new SDK", _has_no_sdk_calls(facts), "`shunter migrate scan`"),
        Point(after, "v1 operator removed, CRDs last", None, "`shunter migrate apply --finalize`"),
    ]


def _assessed(phase: str, facts: Facts) -> Point:
    if facts.readiness is None:
        return Point(phase, "Cluster assessed", None, "`shunter migrate assess -o json`, then `--assessment FILE`")
    steps = f"; {count(len(facts.readiness.next), 'step')} to take" if facts.readiness.next else ""
    return Point(phase, "Cluster assessed", facts.readiness.verdict == "READY", f"{facts.readiness.verdict}{steps}")


def _performance(facts: Facts) -> Metric:
    runs = [run for job in facts.jobs for run in job.runs]
    target = "results equal or within tolerance, throughput within 5 %"
    if not runs:
        return Metric("Performance parity", target, "not measured yet: `shunter migrate test`, then `compare`", "mild")
    counts = Counter(run.verdict for run in runs)
    verdicts = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
    good = sum(counts[verdict] for verdict in PASSED)
    return Metric("Performance parity", target, f"{count(len(runs), 'run')} compared: {verdicts}", _tone(good, len(runs)))


def _references(facts: Facts) -> str:
    standing = facts.standing_references
    if standing is None:
        return "not scanned: add `--scan DIRECTORY`"
    return f"{count(len(standing), 'reference')} in {count(len({finding.place.source for finding in standing}), 'file')}"


def _has_no_sdk_calls(facts: Facts) -> bool | None:
    if facts.standing_references is None:
        return None
    return not any(finding.topic in (CALL, IMPORT) for finding in facts.standing_references)


def _tone(part: int, whole: int) -> Tone:
    return "good" if part == whole else "mild" if part else "bad"


def _share(part: int, whole: int) -> str:
    return f"{part * 100 // whole} %" if whole else "-"


def _change(saved: float) -> str:
    return f"{abs(saved) * 100:.0f} % {'fewer' if saved >= 0 else 'more'}"
