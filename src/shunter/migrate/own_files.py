"""How files begin, or are called, that the migration writes for itself: who scans a tree passes over them."""

from __future__ import annotations

from pathlib import Path

BACKUP_INDEX = "index.yaml"
"""The file at the top of a backup that lists it."""
PLAN_HEADER = """\
# What `shunter migrate apply --plan` will do. Edit it: `action` and `options` of a job, `freeze`, and the waves that jobs are in.
#   action: create   create the TrainJob, suspended; the v1 job stays        wait     nothing until the v1 job has finished
#           move     create TrainJob, suspend v1 job, start TrainJob         archive  nothing: it has finished
#           source   write a patch for the owner of the job                  leave    nothing: it stays on v1
#   options of a job override those of the plan; their names are the flags of `shunter migrate convert`: torchLaunch, suffix, ...
"""
"""The comment at the top of a plan."""


def beside(plan: Path, what: str) -> Path:
    """Where something is kept that belongs to a plan: `plan.yaml.journal` for `plan.yaml`."""
    return plan.with_name(f"{plan.name}.{what}")
