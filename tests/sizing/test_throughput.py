"""Times: by what was measured, and none where nothing was."""

from __future__ import annotations

import pytest

from shunter.sizing import SizeOptions, size


def only(model: str, options: SizeOptions, on: str):  # type: ignore[no-untyped-def]
    return size(model, options, on=on).choices[0].throughput


@pytest.mark.parametrize(
    ("on", "tokens", "hours"),
    [("p5.48xlarge", (45_000, 61_500), (4.5, 6.2)), ("p4de.24xlarge", (19_400, 25_000), (11.1, 14.3))],
)
def test_a_billion_tokens_of_llama_3_1_8b(on: str, tokens: tuple[float, float], hours: tuple[float, float]) -> None:
    pace = only("Llama-3.1-8B", SizeOptions(), on)
    assert pace.tokens_a_second == pytest.approx(tokens, rel=0.005)
    assert [seconds / 3600 for seconds in pace.seconds] == pytest.approx(hours, rel=0.01)


def test_ten_times_the_tokens_take_ten_times_as_long() -> None:
    one, ten = (only("Llama-3.1-8B", SizeOptions(tokens=tokens), "p5.48xlarge") for tokens in (10**9, 10**10))
    assert [10 * seconds for seconds in one.seconds] == pytest.approx(ten.seconds)


def test_long_sequences_have_their_own_measurements() -> None:
    assert only("Llama-3.1-8B", SizeOptions(seq=32768), "p5.48xlarge").mfu == (0.26, 0.34)


@pytest.mark.parametrize(
    ("options", "on", "why"),
    [
        (SizeOptions(), "g6e.48xlarge", "no MFU published for L40S"),
        (SizeOptions(precision="fp32"), "p5.48xlarge", "MFU was measured in bf16"),
        (SizeOptions(strategy="lora"), "p5.48xlarge", "MFU was measured for full training, not for adapters"),
        (SizeOptions(tp=2), "p5.48xlarge", "MFU was measured without tensor, context and pipeline parallelism"),
        (SizeOptions(nodes=2), "p4d.24xlarge", "MFU was measured over 1600 Gbit/s between machines, not 400"),
    ],
)
def test_nothing_is_said_of_the_time_where_nothing_was_measured(options: SizeOptions, on: str, why: str) -> None:
    pace = only("Llama-3.1-8B", options, on)
    assert (pace.unknown, pace.seconds) == (why, (0, 0))


def test_two_machines_with_the_measured_network_are_twice_as_fast() -> None:
    one, two = (only("Llama-3.1-8B", SizeOptions(nodes=nodes), "p5.48xlarge") for nodes in (1, 2))
    assert two.tokens_a_second == pytest.approx([2 * value for value in one.tokens_a_second])
