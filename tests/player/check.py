"""Whether a cluster does what was recorded."""

from __future__ import annotations

from player.case import Case, Step
from player.compare import Difference, differences
from player.live_cluster import LiveCluster
from player.play import QUIET, play
from player.shape import Json

PATIENCE = 60.0
"""Seconds that a busy machine, or a control plane on it, may be late."""


async def differing_step(
    case: Case, live: LiveCluster, *, quiet: float = QUIET, patience: float = PATIENCE, events: bool = True
) -> str:
    """Plays the case up to the first step with another outcome and describes that; empty when there is none."""

    def found(step: Step, record: Json) -> list[Difference]:
        left_out = () if events else ("events",)
        wanted, got = ({key: value for key, value in one.items() if key not in left_out} for one in (step.recorded, record))
        return list(differences(wanted, got))

    number = 0
    async for step, record in play(case, live, quiet=quiet, patience=patience, is_met=lambda *look: not found(*look)):
        if texts := [str(difference) for difference in found(step, record)]:
            return f"step {number} ({step.verb} {str(step.argument)[:160]})\n    " + "\n    ".join(texts)
        number += 1
    return ""
