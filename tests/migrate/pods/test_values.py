"""How what programs read of their pods on both sides is told."""

from __future__ import annotations

import pytest

from shunter.migrate.pods.values import PodValue, values_text


@pytest.mark.parametrize(
    ("v1", "v2", "numbers"),
    [
        ("bert-worker-3", "bert-node-0-4", ("3", "4")),
        ("bert-worker-007", "bert-node-0-0", ("007", "0")),
        ("bert-master", "10.0.0.1", ("", "1")),
        ("", "3", ("", "3")),
    ],
)
def test_a_rank_is_cut_from_the_end_of_a_name(v1: str, v2: str, numbers: tuple[str, str]) -> None:
    assert PodValue("Worker 0", v1, v2).numbers == numbers


def test_short_values_of_each_pod_are_told_and_of_many_pods_the_first() -> None:
    pair = [PodValue(f"Worker {rank}", f"a-{rank}", f"b-{rank}") for rank in range(10)]
    assert values_text(pair[:2]) == "Worker 0: a-0 in v1, b-0 in v2; Worker 1: a-1 in v1, b-1 in v2"
    assert values_text(pair[:8]).count("in v2") == 8
    assert values_text(pair).endswith("Worker 7: a-7 in v1, b-7 in v2; and 2 more pods")


@pytest.mark.parametrize("swapped", [False, True])
def test_long_values_are_told_from_where_they_differ_whichever_side_is_long(swapped: bool) -> None:
    """As of a TF_CONFIG of many pods, which a message must not hold in full."""
    sides = ["x" * 500 + "a" * 500, "x" * 500]
    told = values_text([PodValue("Worker 0", *reversed(sides) if swapped else sides), PodValue("Worker 1", "", "")])
    assert len(told) < 200
    assert "x" * 20 + "a" * 40 + "..." in told
    assert "Worker 1" not in told
