"""How often `shunter doctor` is right: over the recorded faults, and over the examples, of which it must say nothing.

    .venv/bin/python bench/accuracy.py [--examples [NAME ...]]

The recorded faults take a second. --examples runs every training example, or those of these files, on an embedded cluster of
its own with `doctor --watch` beside it (about ten minutes on two cores). It keeps the evidence of those that do not succeed or
get a verdict. Exits 1 when a cause is wrong, a healthy job gets a verdict, or one does not end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from embedded import SHUNTER, Cluster, cluster
from shunter.doctor import recording
from shunter.doctor.diagnosing import diagnose

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "doctor" / "corpus"
EXAMPLES = ROOT / "examples"
SHARED = {"pytorch-mnist.yaml": "mnist-script.yaml", "trainjob-mnist.yaml": "mnist-script.yaml"}
"""What an example needs beside itself; others of these hold all that they need."""
SCRIPTED = (
    "pytorch-distributed-ddp.yaml",
    "pytorch-mnist-gpu.yaml",
    "trainjob-ddp.yaml",
    "trainjob-torchrun.yaml",
    "pytorch-simple.yaml",
)
KINDS = ("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "JAXJob", "PaddleJob", "TrainJob", "Job")
WATCH_SECONDS = 240


class Right(NamedTuple):
    """Of the faults: how many there are, and of how many the first verdict is the cause."""

    faults: int
    named: int
    only_possible: int
    healthy: int
    accused: int


def over_corpus() -> Right:
    """What `expected.yaml` says of each recording, was looked up by people when it was recorded."""
    faults = named = possible = healthy = accused = 0
    for path in sorted(CORPUS.glob("*/expected.yaml")):
        expected = yaml.safe_load(path.read_text())
        evidence = recording.read(path.parent)
        found = diagnose(evidence, evidence.at).verdicts
        if not expected["verdicts"]:
            healthy += 1
            accused += bool(found)
            continue
        faults += 1
        if found and found[0].id == expected["verdicts"][0] and expected["cause"] in found[0].cause:
            named += found[0].confidence != "possible"
            possible += found[0].confidence == "possible"
    return Right(faults, named, possible, healthy, accused)


def over_examples(names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Each example, or those of these names, with its job's end and what was said of it."""
    with cluster() as started:
        for path in sorted([*EXAMPLES.glob("v1/*.yaml"), *EXAMPLES.glob("v2/*.yaml")]):
            if names and path.stem not in names:
                continue
            objects = list(yaml.safe_load_all(path.read_text()))
            jobs = [one for one in objects if one and one["kind"] in KINDS]
            if not jobs:
                continue
            files = [path, *([EXAMPLES / SHARED[path.name]] if path.name in SHARED else [])]
            if path.name in SCRIPTED:
                files.append(EXAMPLES / "training-script.yaml")
            for job in jobs:
                yield (f"{path.parent.name}/{path.name}", *_watched(started, files, job))


def _watched(started: Cluster, files: list[Path], job: dict[str, object]) -> tuple[str, str]:
    environment = {**os.environ, "KUBECONFIG": str(started.state_dir / "kubeconfig")}
    kubectl = [SHUNTER, "kubectl"]
    namespaces = {
        str(one["metadata"].get("namespace", "")) for file in files for one in yaml.safe_load_all(file.read_text()) if one
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*kubectl, *words], env=environment, capture_output=True, text=True, check=False)

    for name in namespaces - {""}:
        run("create", "namespace", name)
    for file in reversed(files):
        run("apply", "-f", str(file))
    metadata: dict[str, str] = job["metadata"]  # type: ignore[assignment]
    wanted = [f"{str(job['kind']).lower()}/{metadata['name']}", "-n", metadata.get("namespace", "default")]
    command = [SHUNTER, "doctor", *wanted, "--watch", "--sample", "2", "-o", "json"]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=WATCH_SECONDS, check=False)
        text = done.stdout
    except subprocess.TimeoutExpired as ended:
        text = (ended.stdout or b"").decode() if isinstance(ended.stdout, bytes) else ended.stdout or ""
    reports = _reports(text)
    said = [f"{verdict['id']} {verdict['cause']}" for report in reports for verdict in report["verdicts"]]
    state = str(reports[-1]["state"]) if reports else "still running"
    if said or state != "Succeeded":
        kept = Path(tempfile.mkdtemp(prefix="shunter-accuracy-")) / "evidence"
        command = [SHUNTER, "doctor", *wanted, "--sample", "2", "--record", str(kept)]
        subprocess.run(command, env=environment, capture_output=True, check=False)
        state += f" (evidence: {kept})"
    run("delete", "-f", str(files[0]), "--wait=false")
    return state, "; ".join(dict.fromkeys(said))


def _reports(text: str) -> list[dict[str, list[dict[str, str]]]]:
    found, rest = [], text.strip()
    while rest:
        report, end = json.JSONDecoder().raw_decode(rest)
        found.append(report)
        rest = rest[end:].strip()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", nargs="*", metavar="NAME", help="also run the examples, or these: pytorch-simple")
    arguments = parser.parse_args()
    right = over_corpus()
    print(f"recorded faults: {right.faults}; cause named {right.named}, only as possible {right.only_possible}")
    print(f"recorded healthy jobs: {right.healthy}; accused {right.accused}")
    wrong = right.faults - right.named - right.only_possible + right.accused
    if arguments.examples is not None:
        for name, state, said in over_examples(arguments.examples):
            print(f"{name}: {state}, load {os.getloadavg()[0]:.0f}{f'; VERDICT {said}' if said else ''}", flush=True)
            wrong += (bool(said) and not state.startswith("Failed")) or state.startswith("still running")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
