"""From a program and options to the Kubernetes objects that run it: what `shunter run train.py` does, as functions.

    from shunter.launch import run

    outcome = run("train.py", nodes=2, args=["--lr", "3e-4"])     # outcome.succeeded, outcome.message

`run` finds the cluster, the runtime and the place for checkpoints as the command does, and prints the logs. Its parts:

    code = packed_code(Path("."), program)                        # launch.tree: which files travel, and their archive
    objects = launch(options, code, runtime, name="train", namespace="default")       # launch.objects

`launch` is pure: it returns the ConfigMaps and the TrainJob, ready for `kubectl apply`. `submitting.submit` writes them, in an
order that allows a kill between any two writes, and `running.followed` follows a job to its end. `preparing.prepared` completes
options with what a cluster says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shunter.launch.running import Outcome, run

__all__ = ["Outcome", "run"]


def __getattr__(name: str) -> Any:
    # What reads a text of one option needs neither a cluster nor its client.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shunter.launch import running

    return getattr(running, name)
