"""Whether a cluster does what was recorded."""

from __future__ import annotations

from player.case import Case
from player.compare import differences
from player.live_cluster import LiveCluster
from player.play import QUIET, play


async def differing_step(case: Case, live: LiveCluster, *, quiet: float = QUIET, events: bool = True) -> str:
    """Plays the case up to the first step with another outcome and describes that; empty when there is none."""
    number = 0
    async for step, record in play(case, live, quiet=quiet):
        wanted = dict(step.recorded)
        if not events:
            wanted.pop("events", None)
            record.pop("events", None)
        found = [str(difference) for difference in differences(wanted, record)]
        if found:
            return f"step {number} ({step.verb} {str(step.argument)[:160]})\n    " + "\n    ".join(found)
        number += 1
    return ""
