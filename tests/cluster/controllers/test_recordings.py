"""Our Job and JobSet planners do what the original controllers were recorded doing."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from cluster.controllers.replay import Replay
from player.case import Case, cases
from player.compare import differences

RECORDINGS = Path(__file__).parent / "recordings"
CASES = [*cases(RECORDINGS / "job"), *cases(RECORDINGS / "jobset")]
KILLS = 0.3
"""Of all writes, before how many the controller dies."""

NEEDS_THE_API_SERVER = {
    "js-replicas-zero": "a Job is refused for a label value of -1: the API server's validation",
}


def _parameters() -> list[object]:
    skipped = NEEDS_THE_API_SERVER
    marks = {name: [pytest.mark.skip(reason=reason)] for name, reason in skipped.items()}
    return [pytest.param(case, id=case.name, marks=marks.get(case.name, [])) for case in CASES]


@pytest.mark.parametrize("case", _parameters())
def test_plans_give_what_was_recorded(case: Case) -> None:
    for number, (step, record) in enumerate(Replay(case).run()):
        wanted = {key: value for key, value in step.recorded.items() if key != "answers"}
        found = [str(difference) for difference in differences(wanted, record)]
        assert not found, f"step {number} ({step.verb} {str(step.argument)[:200]})\n" + "\n".join(found)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("case", _parameters())
def test_controllers_that_die_between_any_two_writes_come_to_the_same(case: Case, seed: int) -> None:
    random = Random(seed)
    for number, (step, record) in enumerate(Replay(case, dies=lambda: random.random() < KILLS).run()):
        wanted = {key: value for key, value in step.recorded.items() if key not in ("answers", "events")}
        record.pop("events", None)
        found = [str(difference) for difference in differences(wanted, record)]
        assert not found, f"step {number} ({step.verb} {str(step.argument)[:200]})\n" + "\n".join(found)
