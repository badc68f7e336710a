"""The operator's plans do what Training Operator v1.9 and Trainer v2.3 were recorded doing."""

from __future__ import annotations

import pytest

from player.compare import differences
from player.operator_replay import OperatorReplay
from player.outcomes import Recorded, outcome, parameters


@pytest.mark.parametrize("one", parameters("plans", "v1", "v1-coscheduling", "v1-volcano", "v2"))
def test_plans_give_what_was_recorded(one: Recorded) -> None:
    left_out = ("answers",) if outcome(one, "plans").has_events else ("answers", "events")
    for number, (step, record) in enumerate(OperatorReplay(one.case, gang_scheduler=one.gang_scheduler).run()):
        wanted = {key: value for key, value in step.recorded.items() if key not in left_out}
        record = {key: value for key, value in record.items() if key not in left_out}
        found = [str(difference) for difference in differences(wanted, record)]
        assert not found, f"step {number} ({step.verb} {str(step.argument)[:200]})\n" + "\n".join(found)
