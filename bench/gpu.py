"""What only a machine with a GPU can show: figures of lm.py, the GPU of a pod, and recordings of faults on NCCL.

    .venv/bin/python bench/gpu.py DIRECTORY [pods] [faults] [figures] [ranks] [--tiny]

Writes what it saw to DIRECTORY: result.json, and a recording by `shunter doctor --record` for each fault. --tiny is a trial run
on a machine that has none.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

from embedded import SHUNTER, Cluster, cluster

ROOT = Path(__file__).resolve().parent.parent
LM = ROOT / "examples" / "recipes" / "lm.py"
RANK = ROOT / "bench" / "gpu_rank.py"
PYTHON = sys.executable
WAVES = (
    ("stopped", "ahead +", "other call", "other call +", "timeout", "memory"),
    ("ahead", "sizes +", "loader", "slow rank", "healthy"),
)
"""Faults that run side by side; the flight recorder of those with a plus can be asked."""
QUIET_SECONDS = 25
PEAK = 989e12
"""bfloat16 FLOPs per second of an H100 or H200 SXM, as torchtitan counts them."""
LARGE = {"dim": 2048, "heads": 16, "layers": 24, "sequence": 2048, "global-batch": 4}
MEDIUM = {"dim": 1024, "heads": 16, "layers": 24, "sequence": 2048, "global-batch": 4}
SMALL = {"dim": 64, "heads": 4, "layers": 2, "sequence": 64, "global-batch": 4}
Shape = dict[str, int]


# ------------------------------------------------------------------------------------------------------------- lm.py alone


def flops_of_token(shape: Shape) -> float:
    """Forward and backward of one token, as torchtitan counts: 6 per parameter that is no embedding, and all of attention."""
    dim, layers = shape["dim"], shape["layers"]
    parameters = layers * (12 * dim**2 + 13 * dim) + 2 * dim + 257 * dim
    return 6 * parameters + 12 * layers * dim * shape["sequence"]


def train(out: Path, name: str, shape: Shape, *options: str, steps: int, ranks: int = 1) -> dict[str, Any]:
    """What lm.py took, by the times in its log and the memory that torch counts; an error says what it wrote last."""
    folder = out / name
    folder.mkdir(parents=True)
    words = [word for option, value in shape.items() for word in (f"--{option}", str(value))]
    command = [PYTHON, "bench/measured_lm.py"]
    begun = time.time()
    processes = []
    for rank in range(ranks):
        own = {"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": "0", "NCCL_HOSTID": f"rank-{rank}"}
        address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29555"}
        written = [str(folder / f"memory-{rank}.json"), str(LM), *words, "--steps", str(steps), *options]
        with (folder / f"rank-{rank}.log").open("w") as log:
            arguments = [*command, *written, "--log", str(folder / "steps.jsonl")]
            environment = {**os.environ, **(own | address if ranks > 1 else {})}
            processes.append(subprocess.Popen(arguments, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT))
    codes = [wait(process, 100) for process in processes]
    if any(codes):
        return {"codes": codes, "error": [(folder / f"rank-{rank}.log").read_text()[-1500:] for rank in range(ranks)]}
    lines = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    times = [line["time"] for line in lines]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    second_half = gaps[len(gaps) // 2 :]
    step = statistics.median(second_half)
    tokens = shape["global-batch"] * shape["sequence"] / step
    memory = [json.loads(path.read_text()) for path in sorted(folder.glob("memory-*.json"))]
    return {
        "step_seconds": step,
        "tokens_per_second": tokens,
        "mfu": tokens * flops_of_token(shape) / PEAK,
        "first_step_after": times[0] - begun,
        "gaps": gaps,
        "losses": [line["loss"] for line in lines],
        "memory": memory,
    }


def wait(process: subprocess.Popen[Any], seconds: float) -> int:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def figures(out: Path, scratch: Path, large: Shape, medium: Shape) -> Iterator[tuple[str, Any]]:
    fast = ("--bf16", "--compile")
    for name, options in {
        "ddp compiled": fast,
        "fsdp compiled": ("--parallel", "fsdp", *fast),
        "ddp": ("--bf16",),
        "fsdp compiled recompute": ("--parallel", "fsdp", "--recompute", *fast),
    }.items():
        yield name, train(out, name, large, *options, steps=40)
    saving = ("--parallel", "fsdp", *fast, "--checkpoint-dir", str(scratch), "--save-every", "60", "--keep", "1")
    yield "fsdp saving", train(out, "fsdp saving", medium, *saving, steps=181)


def ranks(out: Path) -> Iterator[tuple[str, Any]]:
    """The same training on one and two ranks of one GPU, in float32: the losses must agree."""
    shape = SMALL | {"global-batch": 24}
    yield "one", train(out, "one rank", shape, steps=60)
    yield "two ddp", train(out, "two ranks ddp", shape, steps=60, ranks=2)
    yield "two fsdp", train(out, "two ranks fsdp", shape, "--parallel", "fsdp", steps=60, ranks=2)


# -------------------------------------------------------------------------------------------------- on the embedded cluster


def user(started: Cluster) -> Callable[..., dict[str, Any]]:
    """What runs the command as a user of this cluster does."""
    environment = {**os.environ, "KUBECONFIG": str(started.state_dir / "kubeconfig"), "NO_COLOR": "1"}

    def shunter(*words: str, seconds: float = 120) -> dict[str, Any]:
        result: dict[str, Any] = {"command": words}
        try:
            done = subprocess.run([SHUNTER, *words], env=environment, capture_output=True, text=True, timeout=seconds, cwd=ROOT)
        except subprocess.TimeoutExpired:
            return {**result, "code": None}
        return {**result, "code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}

    return shunter


def pods() -> Iterator[tuple[str, Any]]:
    """A training that asks for the GPU, and what a second one is told meanwhile."""
    words = [word for option, value in SMALL.items() for word in (f"--{option}", str(value))]
    with cluster("--strict-resources") as started:
        shunter = user(started)
        yield "started", shunter("run", str(LM), "--name", "first", "--gpus", "1", "-d", "--", "--steps", "1000", *words)
        time.sleep(1)
        yield "second", shunter("run", str(LM), "--name", "second", "--gpus", "1", "-d", "--", "--steps", "10")
        yield "doctor", shunter("doctor", "second")
        yield "jobs", shunter("jobs")
        yield "first", shunter("logs", "first", "-f")
        yield "then", shunter("logs", "second", "-f")
        yield "end", shunter("jobs")


def job(name: str, fault: str, recorder: bool) -> dict[str, Any]:
    variables = [{"name": "NCCL_DEBUG", "value": "WARN"}]
    if recorder:
        variables.append({"name": "TORCH_WORKER_SERVER_SOCKET", "value": "/tmp/torch-worker"})
    container = {
        "name": "pytorch",
        "image": "pytorch/pytorch:2",
        "command": ["python", "/code/gpu_rank.py", fault],
        "env": variables,
        "volumeMounts": [{"name": "code", "mountPath": "/code"}],
    }
    spec = {
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [{"name": "code", "configMap": {"name": "gpu-rank"}}],
    }
    roles = {"Master": 1, "Worker": 2}
    replicas = {role: {"replicas": count, "restartPolicy": "Never", "template": {"spec": spec}} for role, count in roles.items()}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"runPolicy": {"backoffLimit": 0}, "pytorchReplicaSpecs": replicas},
    }


def faults(out: Path) -> Iterator[tuple[str, Any]]:
    """What `shunter doctor` says of each, and the evidence that it said it of."""
    for wave in WAVES:
        jobs = {f"gpu-{fault.replace(' +', '-recorder').replace(' ', '-')}": fault for fault in wave}
        with cluster() as started:
            shunter = user(started)
            code = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "gpu-rank"},
                "data": {RANK.name: RANK.read_text()},
            }
            started.ask("POST", "/api/v1/namespaces/default/configmaps", code)
            path = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
            for name, fault in jobs.items():
                started.ask("POST", path, job(name, fault.removesuffix(" +"), "+" in fault))
            begun = time.monotonic()
            while time.monotonic() < begun + 45:
                listed = started.ask("GET", "/api/v1/namespaces/default/pods")["items"]
                logs = [log_of(started, pod["metadata"]["name"]) for pod in listed if "-master-" in pod["metadata"]["name"]]
                if len(logs) == len(jobs) and all("step 11" in log or "Error" in log for log in logs):
                    break
                time.sleep(1)
            yield f"first steps of {wave}", time.monotonic() - begun
            time.sleep(QUIET_SECONDS)

            def look(name: str, shunter: Callable[..., dict[str, Any]] = shunter) -> dict[str, Any]:
                report = shunter("doctor", name, "--record", str(out / name), "-o", "json", seconds=60)
                return {**report, "text": shunter("doctor", "--from", str(out / name))["stdout"]}

            with ThreadPoolExecutor(3) as pool:
                yield from zip(jobs, pool.map(look, jobs), strict=True)
            yield f"jobs of {wave}", shunter("jobs")
            if os.path.exists("/dev/nvidia0"):
                yield f"smi of {wave}", subprocess.run(["nvidia-smi"], capture_output=True, text=True).stdout
            for pod in started.ask("GET", "/api/v1/namespaces/default/pods")["items"]:
                (out / f"{pod['metadata']['name']}.log").write_text(log_of(started, pod["metadata"]["name"]))


def log_of(started: Cluster, pod: str) -> str:
    try:
        return str(started.ask("GET", f"/api/v1/namespaces/default/pods/{pod}/log"))
    except (RuntimeError, OSError):
        return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("parts", nargs="*", help="pods, faults, figures, ranks; all of them if none is named")
    parser.add_argument("--tiny", action="store_true", help="a small model")
    arguments = parser.parse_args()
    out = arguments.directory.resolve()
    out.mkdir(parents=True, exist_ok=True)
    large, medium = (SMALL, SMALL) if arguments.tiny else (LARGE, MEDIUM)
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        parts = {
            "pods": lambda: pods(),
            "faults": lambda: faults(out),
            "figures": lambda: figures(out, Path(scratch), large, medium),
            "ranks": lambda: ranks(out),
        }
        for part in arguments.parts or parts:
            begun = time.monotonic()
            found = result[part] = {}
            try:
                for name, value in parts[part]():
                    found[name] = value
                    (out / "result.json").write_text(json.dumps(result, indent=1))
                    print(f"{time.monotonic() - begun:.0f} s: {part} {name}", flush=True)
            except Exception as error:  # the other parts are worth having
                found["error"] = traceback.format_exc()
                print(part, repr(error), flush=True)
            (out / "result.json").write_text(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
