"""The operator's plans do what Training Operator v1.9 and Trainer v2.3 were recorded doing."""

from __future__ import annotations

from pathlib import Path

import pytest

from player.case import Case, cases
from player.compare import differences
from player.operator_replay import OperatorReplay

RECORDINGS = Path(__file__).parent / "recordings"

BETTER = {
    "pytorch-exitcode-permanent": "the job gets a completion time, so that its time to live counts (X2)",
    "pytorch-managedby-switch": "Created is always there; managedBy cannot be changed any more (X3)",
    "pytorch-rdzv-conf-empty": "an empty rdzvConf says nothing, upstream panics (X4)",
    "pytorch-restart-policy-odd": "Created is there however often the first pods were refused (S4)",
    "run-delete-orphan": "Created is there however often the first pods were refused (S4)",
    "delete-foreground-no-runtime": "a job that is being deleted may lose its finalizers without its runtime (9-S8)",
    "delete-orphan-recreate": "no objects are made for a job that is being deleted, so none fail",
    "patch-unknown-targets": "patches to what the runtime does not have are refused at admission (9-S23)",
    "plain-ports-collide": "several unnamed ports of a runtime stay as they are (9-S7)",
    "torch-ports": "several unnamed ports of a runtime: only the first gives way to the torch port (9-S7)",
    "trainer-env-kinds": "fileKeyRef is passed on, upstream drops it and the Job is refused",
}
"""Cases where we do something else on purpose; each is in docs/differences.md."""

NOT_YET = {"pytorch-hpa": "elasticPolicy.metrics do not make an autoscaler yet"}

CHANCE = {
    "jobset-edited-running": "how far the JobSet controller gets before suspend is taken back",
    "jobset-edited-suspended": "how far the JobSet controller gets before suspend is set again",
}


def _parameters() -> list[object]:
    marks: dict[str, list[pytest.MarkDecorator]] = {}
    marks |= {name: [pytest.mark.xfail(strict=True, reason=reason)] for name, reason in (BETTER | NOT_YET).items()}
    marks |= {name: [pytest.mark.skip(reason=reason)] for name, reason in CHANCE.items()}
    found = [case for generation in ("v1", "v2") for case in cases(RECORDINGS / generation)]
    return [pytest.param(case, id=case.name, marks=marks.get(case.name, [])) for case in found]


@pytest.mark.parametrize("case", _parameters())
def test_plans_give_what_was_recorded(case: Case) -> None:
    for number, (step, record) in enumerate(OperatorReplay(case).run()):
        wanted = {key: value for key, value in step.recorded.items() if key != "answers"}
        found = [str(difference) for difference in differences(wanted, record)]
        assert not found, f"step {number} ({step.verb} {str(step.argument)[:200]})\n" + "\n".join(found)
