"""The same two ranks started by Shunter and by what else starts ranks on one machine: from the command to the first all_reduce.

    .venv/bin/python bench/peers.py [--rounds N] [--write]

Everything of others is installed into a virtual environment that is removed afterwards, in pinned versions; torch is this
environment's for all. One way after the other in every round, the first of which is not counted. What cannot be installed or run
is named with the reason. `--write` puts the table into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from collections.abc import Callable
from importlib.metadata import distribution, version
from pathlib import Path
from typing import NamedTuple

from embedded import SHUNTER, cluster
from measurements.first_all_reduce import RANK, last_mark
from run import DOCUMENT, machine
from shunter.cluster.free_ports import free_port

HERE = Path(__file__).parent
PINNED = {"ray[train]": "2.60.0", "torchx": "0.7.0", "kubeflow": "0.5.0"}
RANKS = 2
_SECONDS = 600
_RESULT = re.compile(r"(<!-- result: written by bench/peers.py -->\n).*(<!-- end of peers -->)", re.S)


class Way(NamedTuple):
    """How ranks are started."""

    name: str
    command: Callable[[], list[str]]
    environment: dict[str, str]
    versions: str


class Took(NamedTuple):
    """Seconds from the start of the command."""

    first_all_reduce: float
    exit: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the result into docs/benchmarks.md")
    options = parser.parse_args()
    circumstances = machine()
    with tempfile.TemporaryDirectory(prefix="shunter-peers-") as folder, cluster() as cold, cluster("--warm", "torch") as warm:
        place = Path(folder)
        failures = installed(place)
        ways = [*shunter_ways(cold.state_dir, warm.state_dir), *peer_ways(place)]
        times = measured(ways, options.rounds, failures)
    text = f"{circumstances}; torch {version('torch')}; {options.rounds} rounds\n\n{table(ways, times, failures)}\n"
    print(text)
    if options.write:
        DOCUMENT.write_text(_RESULT.sub(lambda match: match[1] + text + match[2], DOCUMENT.read_text()))


def installed(place: Path) -> dict[str, str]:
    """Installs each package into an environment of its own; returns why that failed, by the package."""
    failures = {}
    for package, pinned in PINNED.items():
        directory = place / name_of(package)
        uv = [str(Path(sys.executable).parent / "uv"), "--quiet"]
        for words in (
            ["venv", "--python", sys.executable, str(directory)],
            ["pip", "install", "--python", str(directory / "bin/python"), f"{package}=={pinned}"],
        ):
            done = subprocess.run([*uv, *words], capture_output=True, text=True, check=False)
            if done.returncode:
                failures[name_of(package)] = f"not installed: {last_line(done.stderr)}"
                break
        share_torch(directory)
    return failures


def share_torch(directory: Path) -> None:
    """Has an environment find this one's packages after its own."""
    found = sorted(directory.glob("lib/python*/site-packages"))
    if found:
        (found[0] / "shared.pth").write_text(f"{sysconfig.get_path('purelib')}\n")


def torch_wheel(place: Path) -> Path:
    """A wheel of torch's name and version, with its commands and backends, that points to this environment for all else."""
    pinned = version("torch").partition("+")[0]
    path, info = place / f"torch-{pinned}-py3-none-any.whl", f"torch-{pinned}.dist-info"
    files = {
        "torch-shared.pth": f"{sysconfig.get_path('purelib')}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {pinned}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": distribution("torch").read_text("entry_points.txt") or "",
    }
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD")))
    return path


def shunter_ways(cold: Path, warm: Path) -> list[Way]:
    def run(state_dir: Path, *options: str) -> tuple[Callable[[], list[str]], dict[str, str], str]:
        kubeconfig = {"KUBECONFIG": str(state_dir / "kubeconfig")}
        return lambda: [SHUNTER, "run", str(RANK), *options], kubeconfig, f"shunter {version('shunter')}"

    return [
        Way("torchrun", torchrun, {}, f"torch {version('torch')}"),
        Way("shunter run, 2 nodes", *run(cold, "--nodes", str(RANKS))),
        Way("shunter run, 2 nodes, cluster with --warm torch", *run(warm, "--nodes", str(RANKS), "--warm", "torch")),
        Way("shunter run, 2 processes on a node", *run(cold, "--procs", str(RANKS))),
    ]


def torchrun() -> list[str]:
    """With a port that is free now."""
    words = ["-m", "torch.distributed.run", "--nnodes=1", f"--nproc-per-node={RANKS}", f"--master-port={free_port()}"]
    return [sys.executable, *words, str(RANK)]


def peer_ways(place: Path) -> list[Way]:
    wheel = torch_wheel(place)
    ours = str(Path(sys.executable).parent)

    def way(name: str, package: str, words: list[str], **environment: str) -> Way:
        binaries = str(place / package / "bin")
        path = {"PATH": f"{binaries}:{ours}:{os.environ['PATH']}", **environment}
        pinned = next(pinned for name, pinned in PINNED.items() if name_of(name) == package)
        return Way(name, lambda: [f"{binaries}/{words[0]}", *words[1:]], path, f"{package} {pinned}")

    ray = ["python", str(HERE / "peer_ray.py")]
    quiet = {"RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    ddp = ["torchx", "run", "--scheduler=local_cwd", "--wait", "--log", "dist.ddp", "-j", f"1x{RANKS}", "--script", str(RANK)]
    local = ["python", str(HERE / "peer_kubeflow.py"), str(wheel)]
    return [
        way("TorchX, local_cwd", "torchx", ddp),
        way("Kubeflow SDK, local processes", "kubeflow", local, TMPDIR=str(place)),
        way("Ray Train, ray.init() included", "ray", ray, **quiet),
    ]


def measured(ways: list[Way], rounds: int, failures: dict[str, str]) -> dict[str, list[Took]]:
    """By the name of the way. One that fails is not tried again."""
    times: dict[str, list[Took]] = {way.name: [] for way in ways}
    for number in range(-1, rounds):
        for way in ways:
            package = way.versions.partition(" ")[0]
            if package in failures or way.name in failures:
                continue
            try:
                took = once(way)
            except (subprocess.SubprocessError, RuntimeError) as error:
                failures[way.name] = f"not run: {error}"
                continue
            print(f"{way.name}: {took.first_all_reduce:.2f} s, exit {took.exit:.2f} s", file=sys.stderr, flush=True)
            if number >= 0:
                times[way.name].append(took)
    return times


def once(way: Way) -> Took:
    command = way.command()
    with tempfile.TemporaryFile("w+") as output:
        begun = time.time()
        done = subprocess.run(
            command, env=os.environ | way.environment, stdout=output, stderr=subprocess.STDOUT, timeout=_SECONDS, check=False
        )
        ended = time.time()
        output.seek(0)
        text = output.read()
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {last_line(text)}")
    # Ray repeats what a rank prints.
    marks = "".join(f"{mark}\n" for mark in dict.fromkeys(re.findall(r"first all_reduce at [\d.]+", text)))
    return Took(last_mark(marks, RANKS) - begun, ended - begun)


def table(ways: list[Way], times: dict[str, list[Took]], failures: dict[str, str]) -> str:
    """Medians, and their ratios to torchrun's."""
    base = medians(times["torchrun"])
    lines = ["| | to the first all_reduce | of torchrun | to the exit | of torchrun | version |", "|---|---|---|---|---|---|"]
    for way in ways:
        if not times[way.name]:
            why = failures.get(way.name) or failures[way.versions.partition(" ")[0]]
            lines.append(f"| {way.name} | {why} | | | | {way.versions} |")
            continue
        first, end = medians(times[way.name])
        ratios = f"{first / base.first_all_reduce:.2f} x", f"{end / base.exit:.2f} x"
        lines.append(f"| {way.name} | {first:.2f} s | {ratios[0]} | {end:.2f} s | {ratios[1]} | {way.versions} |")
    return "\n".join(lines)


def medians(times: list[Took]) -> Took:
    return Took(*(statistics.median(values) for values in zip(*times, strict=True)))


def name_of(package: str) -> str:
    """Without its extras."""
    return package.partition("[")[0]


def last_line(text: str) -> str:
    """Of what a command wrote: where the reason stands, as a rule."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].replace("|", "/")[:200] if lines else "it wrote nothing"


if __name__ == "__main__":
    main()
