"""Plays the stories of commands.yaml with one kubectl on a running cluster."""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
import time
import uuid
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from e2e.running_cluster import Cluster
from kubectl.normal import normal
from kubectl.table import Command, Json, stories

DEADLINE = 60.0
_POLL = 0.2
_SIDE_BY_SIDE = 4


def play(cluster: Cluster, kubectls: dict[str, str], asked: Mapping[str, Collection[str]]) -> dict[str, dict[str, list[Json]]]:
    """version -> story -> answers, of programs by their version and the stories asked of each; these are played side by side."""
    (node,) = cluster.get("nodes")["items"]
    names = _names_of(node)
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        playing = {
            version: {
                name: pool.submit(_story, cluster, kubectls[version], names, stories()[name]) for name in _longest_first(of_it)
            }
            for version, of_it in asked.items()
        }
        return {version: {name: told[name].result() for name in stories() if name in told} for version, told in playing.items()}


def _longest_first(names: Collection[str]) -> list[str]:
    return sorted(names, key=lambda name: -len(stories()[name]))


def _names_of(node: Json) -> dict[str, str]:
    """What is another on each machine and with each release, by the name that it gets in answers."""
    info = node["status"]["nodeInfo"]
    fields = ("osImage", "kernelVersion", "architecture", "kubeletVersion", "containerRuntimeVersion")
    return {"{node}": node["metadata"]["name"], **{f"{{{field}}}": info[field] for field in fields}}


def _story(cluster: Cluster, program: str, names: dict[str, str], commands: tuple[Command, ...]) -> list[Json]:
    namespace = f"t-kubectl-{uuid.uuid4().hex[:8]}"
    cluster.create_namespace(namespace)
    try:
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "note.txt").write_text("one\ntwo\n")
            player = _Player(cluster, program, Path(directory), {"{ns}": namespace, **names})
            return [player.answer(command) for command in commands]
    finally:
        cluster.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


class _Player:
    def __init__(self, cluster: Cluster, program: str, directory: Path, names: dict[str, str]) -> None:
        self._program = program
        self._directory = directory
        self._names = names
        self._environment = {**cluster.environment, "KUBECONFIG": str(cluster.kubeconfig)}
        self._replaced = {value: name for name, value in names.items()}

    def answer(self, command: Command) -> Json:
        """Exit code and output in normal form; of what only prepares, neither."""
        deadline = time.monotonic() + DEADLINE
        while True:
            code, out, err = self._lines(command) if command.lines else self._run(command)
            ready = re.search(command.until, out + err) and not (command.prepares and code)
            if ready or time.monotonic() > deadline:
                break
            time.sleep(_POLL)
        assert not (command.prepares and code), f"kubectl {command.run}: {err}"
        answer: Json = {"run": command.run}
        if command.prepares:
            return answer
        answer["code"] = code
        for name, text in (("out", out), ("err", err)):
            if text:
                answer[name] = normal(text, self._replaced, sort=command.sorted)
        return answer

    def _run(self, command: Command) -> tuple[int, str, str]:
        done = subprocess.run(
            self._words(command),
            env=self._surroundings(command),
            cwd=self._directory,
            input=self._fill(command.stdin or ""),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def _lines(self, command: Command) -> tuple[int, str, str]:
        """The first lines of a command that goes on; its exit code tells nothing."""
        with subprocess.Popen(
            ["timeout", str(DEADLINE), *self._words(command)],
            env=self._surroundings(command),
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(command.lines)]
            process.terminate()
        return 0, "".join(lines), ""

    def _words(self, command: Command) -> list[str]:
        words = [self._fill(word) for word in shlex.split(command.run)]
        return [self._program, f"--namespace={self._names['{ns}']}", *words]

    def _surroundings(self, command: Command) -> dict[str, str]:
        return {**self._environment, **command.env}

    def _fill(self, text: str) -> str:
        for name, value in self._names.items():
            text = text.replace(name, value)
        return text
