"""From a program and options to the Kubernetes objects that run it: what `shunter run train.py` does, as functions.

    from shunter.launch import run

    outcome = run("train.py", nodes=2, args=["--lr", "3e-4"])     # outcome.succeeded, outcome.message

`run` finds the cluster, the runtime and the place for checkpoints as the command does, and prints the logs. `launch` is pure, and
needs no cluster: it returns the ConfigMaps and the TrainJob, ready for `kubectl apply`.

    program = Program(path="train.py", arguments=("--lr", "3e-4"))
    options = LaunchOptions(program=program, nodes=2)
    objects = launch(options, packed_code(Path(), program), Runtime("shunter-torch", "torch"), name="train", namespace="default")

options.py                        what may be requested, its defaults (the grace period, and what torchrun leaves ranks of it),
                                  and what is refused of it (a job's name that is too long)
option_texts.py                   how it is written on a command line
programs.py, code/                the program and its directory; which files travel, and how
objects.py, mounts.py             the objects; what pods mount. Arguments keep `$(NAME)` as it is, by `literal` of
                                  cluster/node/content/expansion.py
names.py                          the name of a job that was given none; the names of its earlier runs
runtimes/, checkpoints/           the runtime that a program starts from; where checkpoints go
fabric.py, fabric_objects.py      the fast network: profile and devices; in objects
tracking.py, open_secrets.py      MLflow's variables; variables whose secrets would stand in the job
preparing.py, submitting.py       options completed by what a cluster says; the writes, with a kill possible between any two
named_objects.py, embedded.py     refused: objects that are missing; options without effect on the embedded cluster
running.py                        `run`
resuming.py, rerunning.py         `--resume JOB`; a job once more, and copied_job.py, its spec without what belonged to the first
scaling.py, node_counts.py        `shunter scale`: the writes, and what is refused of a number
deleting.py, saved_at_stop.py     `shunter delete`, and what a stopped job has saved
applying.py, refusals.py          manifests of `run -f`; a refusal with file and line
annotations.py                    labels and annotations

Tests: tests/launch; whole jobs in tests/e2e: test_run_program.py, test_bucket.py (resumed from one) and test_scale.py;
annotations.py in test_objects.py there, fabric_objects.py in test_fabric.py, preparing.py in test_option_texts.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.lazy_names import lazy_names

if TYPE_CHECKING:
    from shunter.launch.code.delivery import ImageCode, MountedCode
    from shunter.launch.code.tree import packed_code
    from shunter.launch.objects import launch
    from shunter.launch.options import Checkpoints, ClaimVolume, LaunchOptions, Program
    from shunter.launch.running import Outcome, run
    from shunter.launch.runtimes.choice import Runtime

__all__ = [
    "Checkpoints",
    "ClaimVolume",
    "ImageCode",
    "LaunchOptions",
    "MountedCode",
    "Outcome",
    "Program",
    "Runtime",
    "launch",
    "packed_code",
    "run",
]
# What reads a text of one option needs neither a cluster nor its client.
__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("Checkpoints", "ClaimVolume", "LaunchOptions", "Program"), "options"),
        **dict.fromkeys(("ImageCode", "MountedCode"), "code.delivery"),
        **dict.fromkeys(("Outcome", "run"), "running"),
        "Runtime": "runtimes.choice",
        "launch": "objects",
        "packed_code": "code.tree",
    },
)
