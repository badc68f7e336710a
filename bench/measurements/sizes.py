"""How long results are: lines of TrainJobs and runtimes for each line of v1 jobs, all of them converted in one run and proved.

The jobs are those of the recordings, which differ on purpose in what only a runtime can say, and the examples: once, and ten jobs
of each, as a team has them. Of the runtimes of the recorded jobs a figure for each cause says what their lines are for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from figures import Figure
from shunter.api.meta import Json
from shunter.api.resources import TRAINING_RUNTIMES
from shunter.api.trainer.runtime import ANCESTOR_LABEL
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.emit import files
from shunter.migrate.conversion.emit.job import plain_text
from shunter.migrate.conversion.emit.sizes import sizes
from shunter.migrate.conversion.one_job import framework_of
from shunter.migrate.conversion.sharing import shared_in
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.options import Options
from shunter.migrate.proof.comparison import compared

ROOT = Path(__file__).parents[2]
RECORDINGS = [ROOT / "tests" / "recordings" / name for name in ("v1", "v1-volcano", "v1-coscheduling")]
EXAMPLES = ROOT / "examples" / "v1"
HEAD = "kind, name, mlPolicy"
WAY_DOWN = "the way down to the containers"
ENDS = "ends, restarts, order, numbers of pods"
CAUSES = {
    HEAD: ("mlPolicy",),
    WAY_DOWN: ("template", "spec", "replicatedJobs", "containers", "name"),
    "environment": ("env", "envFrom"),
    ENDS: (
        *("backoffLimit", "backoffLimitPerIndex", "podFailurePolicy", "restartPolicy", "successPolicy"),
        *("ttlSecondsAfterFinished", "dependsOn", "replicas", "parallelism", "completions"),
    ),
    "init containers": ("initContainers",),
    "images, commands, resources, ports": ("image", "command", "args", "resources", "ports"),
    "volumes, probes": ("volumes", "volumeMounts", "readinessProbe"),
}
"""Causes of lines, by the fields that they begin with; what is below a field counts with it, but for the first two."""
OPTIONS = Options(elastic_nodes="replicas", accepted=("MPI001",))


def measure(settings: dict[str, Any]) -> list[Figure]:
    examples = [path.read_text() for path in sorted(EXAMPLES.glob("*.yaml"))]
    many = [_renamed(text, number) for number in range(settings["jobs_of_each"]) for text in examples]
    corpora = {"recorded jobs": [*recorded()], "examples": examples, f"{settings['jobs_of_each']} of each example": many}
    return [figure for name, texts in corpora.items() for figure in _figures(name, texts)]


def recorded() -> Iterator[str]:
    """The v1 jobs that recordings apply, each under a name of its own."""
    seen: list[Json] = []
    for path in (path for folder in RECORDINGS for path in sorted(folder.glob("*.yaml"))):
        steps = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)["steps"]
        for obj in (obj for step in steps for obj in (step.get("step") or {}).get("apply") or ()):
            if framework_of(SourceObject(obj, "")) and obj not in seen:
                seen.append(obj)
                yield plain_text({**obj, "metadata": {**obj["metadata"], "name": f"{obj['metadata']['name']}-{len(seen)}"}})


def _renamed(text: str, number: int) -> str:
    """The example with another name for each of its objects."""
    return re.sub(r"(?m)^(  name: \S+)$", rf"\1-{number}", text)


def _figures(name: str, texts: list[str]) -> list[Figure]:
    given = Input(tuple(text_file(text, f"{number}.yaml") for number, text in enumerate(texts)))
    alone = batch.converted(given.convertible, OPTIONS, [source.value for source in given.others])
    together = shared_in(given, alone)
    for conversion in files.usable(together):
        told = [finding.message for finding in compared(conversion, OPTIONS).findings if finding.is_blocking]
        if told:
            raise RuntimeError(f"{conversion.source.title}: its pods are not those that it had: {told[0]}")
    text = files.stream(given, together)
    found = sizes(together, [text])
    runtimes = {files.runtime_key(one.runtime) for one in files.usable(alone) if one.runtime}
    note = f"{found.jobs} of {len(together.outcomes)} jobs, {found.lines:,} lines; others are blocked until somebody decides"
    shared = f"{found.runtimes} runtimes, {found.runtime_lines:,} lines; {len(runtimes)} where each job is converted alone"
    causes = [
        Figure(f"{name}: {cause}", count / found.lines, "x", f"{count:,} lines of runtimes")
        for cause, count in lines_by_cause(text).most_common()
    ]
    return [
        Figure(f"{name}: TrainJobs / v1 jobs", found.train_job_lines / found.lines, "x", note),
        Figure(f"{name}: with runtimes", (found.train_job_lines + found.runtime_lines) / found.lines, "x", shared),
        *causes,
    ]


def lines_by_cause(text: str) -> Counter[str]:
    """The lines of the TrainingRuntimes of a stream, as CAUSES has them."""
    causes = {field: cause for cause, fields in CAUSES.items() for field in fields}
    found: Counter[str] = Counter()
    for document in re.split(r"(?m)^---.*$", text):
        if not re.search(rf"(?m)^kind: {TRAINING_RUNTIMES.kind}$", document):
            continue
        block, begins_at = "", 0
        for line in (line for line in document.splitlines() if line.strip() and not line.lstrip().startswith("#")):
            indent, words = len(line) - len(line.lstrip()), line.strip()
            if not block or indent < begins_at or (indent == begins_at and not words.startswith("- ")):
                field = words.removeprefix("- ").split(":")[0]
                is_label_of_job = field == "metadata" and ANCESTOR_LABEL in words
                cause = WAY_DOWN if is_label_of_job else HEAD if indent == 0 else causes.get(field, "everything else")
                block, begins_at = ("" if cause in (HEAD, WAY_DOWN) else cause), indent
            found[block or cause] += 1
    return found
