"""How use becomes a rate, and the summary in kubelet's form."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from shunter.cluster.node.server.stats import MeasuredContainer, Rate, Stats, UsageSample, document, rate
from shunter.cluster.node.server.usage import Usage


@pytest.mark.parametrize(
    ("moments", "window", "cores"),
    [
        pytest.param([0.0], 20.0, 0.5, id="since the only look"),
        pytest.param([0.0, 14.0, 19.5], 6.0, 0.5, id="since the newest that is five seconds old"),
        pytest.param([17.0, 18.5], 3.0, 0.5, id="since the oldest when all are younger"),
        pytest.param([19.5], None, None, id="not since a moment ago"),
    ],
)
def test_a_rate_is_taken_over_a_good_time(moments: list[float], window: float | None, cores: float | None) -> None:
    now = UsageSample(20.0, {7: Usage(10.0, 5)})
    earlier = [UsageSample(moment, {7: Usage(moment / 2, 1)}) for moment in moments]
    found = rate(now, earlier, 7)
    assert (found.window, found.cores) == (window, cores) if found else window is None


def test_a_counter_that_went_back_is_no_use() -> None:
    found = rate(UsageSample(10.0, {7: Usage(1.0, 5)}), [UsageSample(0.0, {7: Usage(3.0, 5)})], 7)
    assert found is not None
    assert found.cores == 0.0


def test_the_summary_is_in_kubelets_form_and_leaves_out_what_is_too_young() -> None:
    running = [MeasuredContainer("n", "p", "u", name, root, 0.0) for name, root in (("a", 1), ("b", 2))]
    shown = document("node", running, {1: Rate(0.25, 2.0, 1024, 5.0)}, datetime(2026, 11, 21, tzinfo=UTC))
    (pod,) = shown["pods"]
    assert pod["podRef"] == {"name": "p", "namespace": "n", "uid": "u"}
    (container,) = pod["containers"]
    assert (container["name"], container["cpu"]["usageNanoCores"], container["memory"]["workingSetBytes"]) == (
        "a",
        250_000_000,
        1024,
    )


async def test_who_asks_first_gets_a_rate_and_later_ones_do_not_wait() -> None:
    looks = 0

    def look(roots: Iterable[int]) -> dict[int, Usage]:
        nonlocal looks
        looks += 1
        return {root: Usage(float(looks), 100) for root in roots}

    clock = iter([0.0, 1.0, 20.0])
    stats = Stats("node", lambda: [MeasuredContainer("n", "p", "u", "c", 7, 0.0)], look=look, clock=lambda: next(clock))
    first = await stats.summary()
    assert first["pods"][0]["containers"][0]["cpu"]["usageNanoCores"] == 1_000_000_000
    await stats.summary()
    assert looks == 3
