"""Our Job and JobSet planners do what the original controllers were recorded doing."""

from __future__ import annotations

from random import Random

import pytest

from cluster.controllers.replay import Replay
from player.compare import differences
from player.outcomes import Recorded, parameters

CASES = parameters("plans", "job", "jobset")
KILLS = 0.3
"""Of all writes, before how many the controller dies."""


@pytest.mark.parametrize("one", CASES)
def test_plans_give_what_was_recorded(one: Recorded) -> None:
    for number, (step, record) in enumerate(Replay(one.case).run()):
        wanted = {key: value for key, value in step.recorded.items() if key != "answers"}
        found = [str(difference) for difference in differences(wanted, record)]
        assert not found, f"step {number} ({step.verb} {str(step.argument)[:200]})\n" + "\n".join(found)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("one", CASES)
def test_controllers_that_die_between_any_two_writes_come_to_the_same(one: Recorded, seed: int) -> None:
    random = Random(seed)
    for number, (step, record) in enumerate(Replay(one.case, dies=lambda: random.random() < KILLS).run()):
        wanted = {key: value for key, value in step.recorded.items() if key not in ("answers", "events")}
        record.pop("events", None)
        found = [str(difference) for difference in differences(wanted, record)]
        assert not found, f"step {number} ({step.verb} {str(step.argument)[:200]})\n" + "\n".join(found)
