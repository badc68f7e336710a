"""`up` and `down`: start and stop the embedded cluster."""

from __future__ import annotations

import os
import shlex
import signal
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from shunter.cli.output.console import busy, say
from shunter.cluster import lifecycle
from shunter.cluster.disk_space import disk_space, shortage
from shunter.cluster.lifecycle import StartedCluster
from shunter.cluster.state_dir import StateDir, default_state_dir
from shunter.errors import InputError


class RealLevel(StrEnum):
    """The isolation levels with real processes; `--simulate` selects the third level."""

    namespaces = "namespaces"
    plain = "plain"


StateDirOption = Annotated[
    Path | None,
    typer.Option("--state-dir", help="Directory of the embedded cluster [default: under $XDG_STATE_HOME].", show_default=False),
]


def up(
    state_dir: StateDirOption = None,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="Port of the API server on 127.0.0.1; 0 reuses the previous port or picks a free one."
        ),
    ] = 0,
    foreground: Annotated[bool, typer.Option("--foreground", help="Run in the foreground; Ctrl-C stops the cluster.")] = False,
    simulate: Annotated[bool, typer.Option("--simulate", help="Do not run pods: mark them Running immediately.")] = False,
    strict_resources: Annotated[
        bool, typer.Option("--strict-resources", help="Leave pods Pending that request more than this machine has.")
    ] = False,
    level: Annotated[
        RealLevel | None, typer.Option(help="Isolation of pods [default: the strongest available].", show_default=False)
    ] = None,
    images: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="YAML file mapping image names to environments.")
    ] = None,
    strict_images: Annotated[
        bool, typer.Option("--strict-images", help="Report ErrImagePull for images that no environment is mapped to.")
    ] = False,
    warm: Annotated[
        str,
        typer.Option(
            metavar="MODULES", help="Start Python containers as forks of a process that has imported these modules, as in torch."
        ),
    ] = "",
    max_container_restart_period: Annotated[
        float,
        typer.Option(min=0, max=300, help="Longest restart back-off of containers in seconds; 0 is the default, 300."),
    ] = 0,
    feature_gates: Annotated[
        str,
        typer.Option(
            help="Feature gates of the operator: NAME=true, comma-separated [default: TrainJobStatus=true].", show_default=False
        ),
    ] = "",
    autoscaler_sync_period: Annotated[
        float,
        typer.Option(min=0, help="Sync period of the horizontal pod autoscaler in seconds; 0 is the default of Kubernetes, 15."),
    ] = 0,
) -> None:
    """Start the embedded cluster in the background and print how to use it."""
    if simulate and level:
        raise InputError(f"--simulate and --level {level} exclude each other: simulated pods are not run.", "Choose one.")
    # Errors in these are reported before anything is started.
    if images:
        from shunter.cluster.node.content.images import load_images

        load_images(images)
    if feature_gates:
        from shunter.operator import config

        config.feature_gates(feature_gates)
    if warm and simulate:
        raise InputError("--warm and --simulate exclude each other: simulated pods are not run.", "Choose one.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = lifecycle.Options(
        state_dir=chosen(state_dir),
        port=port,
        simulate=simulate,
        strict_resources=strict_resources,
        level=level or "",
        images=images,
        strict_images=strict_images,
        warm=warm_modules(warm),
        max_container_restart_period=max_container_restart_period,
        feature_gates=feature_gates,
        autoscaler_sync_period=autoscaler_sync_period,
    )
    with busy("starting the cluster"):
        started = lifecycle.start(options, foreground=foreground)
    if foreground and not started.already:
        run_in_foreground(started)
    else:
        announce(started)


def warn_of_disk(state: StateDir) -> None:
    """Prints a warning if the cluster's disk is nearly full."""
    if warning := shortage(state.root, disk_space(state.root)):
        say(f"warning: {warning}")


def announce(started: StartedCluster) -> None:
    """Prints that the cluster is up; the line on standard output is for a shell's `eval`."""
    if started.already:
        say(f"the cluster is already up: {started.record.server}")
    else:
        say(f"the cluster is up after {started.seconds:.1f} s: {started.record.server}")
    warn_of_disk(started.state)
    print(export_line(started.state), flush=True)


def export_line(state: StateDir) -> str:
    """The shell command that selects the cluster."""
    return f"export KUBECONFIG={shlex.quote(str(state.kubeconfig))}"


def warm_modules(text: str) -> tuple[str, ...]:
    """The modules that --warm names. Raises InputError for an invalid name, before anything is started."""
    if not text:
        return ()
    from shunter.cluster.node.content.warm_start import module_names

    remedy = "Name modules, with commas between them: --warm torch"
    try:
        names = module_names(text)
    except ValueError as error:
        raise InputError(f"--warm {text}: {error}.", remedy) from error
    if not names:
        raise InputError(f"--warm {text}: no module is named.", remedy)
    return names


def run_in_foreground(started: StartedCluster) -> None:
    """Waits for Ctrl-C, or for the supervisor to end, then stops whatever is left."""
    try:
        announce(started)
        say("Ctrl-C stops it.")
        os.waitpid(started.record.supervisor, 0)
    except KeyboardInterrupt:
        say("stopping")
    except ChildProcessError:
        pass
    finally:
        lifecycle.stop(started.state)


def down(state_dir: StateDirOption = None) -> None:
    """Stop the embedded cluster and its pods. Objects stay on disk for the next `up`."""
    state = StateDir(chosen(state_dir).absolute())
    with busy("stopping the cluster"):
        stopped = lifecycle.stop(state)
    say("the cluster is down" if stopped else "no cluster is up")


def chosen(state_dir: Path | None) -> Path:
    """The directory of `--state-dir`, or the default one; it need not exist."""
    return state_dir or default_state_dir()
