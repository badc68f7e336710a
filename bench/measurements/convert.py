"""Converting manifests: many at once by the command and with their pods compared, and one alone, start included. Proving them by
the command: a job of many pods, and many jobs of one file."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from embedded import SHUNTER
from figures import Figure, spread
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.emit import files
from shunter.migrate.conversion.source.provider import read
from shunter.migrate.options import Options
from shunter.migrate.proof.comparison import compared

EXAMPLES = Path(__file__).parents[2] / "examples" / "v1"


def measure(settings: dict[str, Any]) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        count = write_manifests(Path(folder), settings["manifests"])
        seconds, compared_seconds = in_process(folder)
        first, second = converted(folder), converted(folder)
    with tempfile.TemporaryDirectory() as folder:
        write_large_job(Path(folder, "large.json"), settings["workers"])
        Path(folder, "jobs.yaml").write_text("---\n".join(manifests(settings["jobs"])))
        large, many = ([validated(f"{folder}/{name}") for _ in range(2)] for name in ("large.json", "jobs.yaml"))
    if first[1] != second[1]:
        raise RuntimeError("the same manifests gave two different texts")
    alone = [converted(str(EXAMPLES / "pytorch-simple.yaml"))[0] * 1000 for _ in range(settings["repeats"])]
    return [
        Figure("converting manifests", min(first[0], second[0]), "s", f"{count} files, the command's start included"),
        Figure("converting and comparing pods", seconds + compared_seconds, "s", f"of which comparing {compared_seconds:.1f} s"),
        Figure("validating one large job", min(large), "s", f"a TFJob of {settings['workers']} Workers, start included"),
        Figure("validating jobs of one file", min(many), "s", f"{settings['jobs']} jobs, start included"),
        Figure("converting one file", statistics.median(alone), "ms", f"{spread(alone)}, start included"),
    ]


def write_manifests(folder: Path, count: int) -> int:
    """The examples over and over, under names of their own, twenty directories of them."""
    for number, text in enumerate(manifests(count)):
        path = folder / f"team-{number % 20}" / f"job-{number}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return count


def manifests(count: int) -> Iterator[str]:
    """The examples over and over, under names of their own."""
    texts = [path.read_text() for path in sorted(EXAMPLES.glob("*.yaml"))]
    texts = [text for text in texts if "apiVersion: kubeflow.org/v1\n" in text and "\n---" not in text]
    for number in range(count):
        yield re.sub(r"(?m)^(  name: \S+)$", rf"\1-{number}", texts[number % len(texts)], count=1)


def write_large_job(path: Path, workers: int) -> None:
    """A TFJob whose pods are each told of all others."""
    containers = [{"name": "tensorflow", "image": "team/train", "command": ["python", "train.py"]}]
    template = {"spec": {"containers": containers}}
    roles = {"Chief": {"replicas": 1, "template": template}, "Worker": {"replicas": workers, "template": template}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "large"}, "spec": {"tfReplicaSpecs": roles}}
    path.write_text(json.dumps(job))


def in_process(folder: str) -> tuple[float, float]:
    """Seconds of reading, converting and writing, and of comparing the pods of both sides."""
    started = time.perf_counter()
    given = read([folder])
    results = batch.converted(given.convertible, Options(), [source.value for source in given.others])
    files.stream(given, results)
    done = time.perf_counter()
    for conversion in files.usable(results):
        compared(conversion, results.options)
    return done - started, time.perf_counter() - done


def converted(path: str) -> tuple[float, bytes]:
    """Seconds of one run of the command, and what it printed. Blocked jobs are left out, so 3 is no failure."""
    started = time.perf_counter()
    done = subprocess.run([SHUNTER, "migrate", "convert", "--quiet", "-f", path], capture_output=True, check=False)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr.decode())
    return time.perf_counter() - started, done.stdout


def validated(path: str) -> float:
    """Seconds of one proof by the command. Blocked jobs are proved as well, so 3 is no failure."""
    started = time.perf_counter()
    done = subprocess.run([SHUNTER, "migrate", "validate", "-f", path], capture_output=True, check=False)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr.decode())
    return time.perf_counter() - started
