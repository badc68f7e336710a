"""A sizing as text: the answer first, aligned, and no wider than the terminal."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.sizing import SizeOptions, size
from shunter.sizing.prices import Prices
from shunter.sizing.report import brief, duration, report, two_digits
from shunter.sizing.shapes import known_models

WIDE = """\
Llama-3.1-8B  8,030,261,248 parameters  full, FSDP, AdamW, bf16-mixed, seq 8192, batch 1 per GPU
needs   36.9 GiB per GPU on 8 GPUs (26-44): states 15.0  logits 11.7  unsharded 6.9  activations 2.0  recomputation 1.3
fits    1 x p5.48xlarge   8 x H100        36.9 of  76.0 GiB  45,000-61,000 tokens/s at 33-45 % MFU: 1B in 4.5-6.2 h
        2 x p4d.24xlarge  8 x A100-40GB   29.4 of  38.0 GiB
            no time (MFU was measured over 1600 Gbit/s between machines, not 400); 1 would be tight: 36.9 of 38.0 GiB,
            may need up to 44.3
no      g5.48xlarge       8 x A10G
            without parameters, gradients and optimizer: 21.9 of 21.2 GiB, on any number of GPUs (logits 11.7)
note    host memory: about 271 GiB per machine to load and save
"""
NARROW = """\
Llama-3.1-8B  8,030,261,248 parameters  full, FSDP, AdamW, bf16-mixed, seq 8192,
       batch 1 per GPU
needs   36.9 GiB per GPU on 8 GPUs (26-44): states 15.0  logits 11.7  unsharded
          6.9  activations 2.0  recomputation 1.3
fits    1 x p5.48xlarge   8 x H100        36.9 of  76.0 GiB
            45,000-61,000 tokens/s at 33-45 % MFU: 1B in 4.5-6.2 h
        2 x p4d.24xlarge  8 x A100-40GB   29.4 of  38.0 GiB
            no time (MFU was measured over 1600 Gbit/s between machines, not
            400); 1 would be tight: 36.9 of 38.0 GiB, may need up to 44.3
no      g5.48xlarge       8 x A10G
            without parameters, gradients and optimizer: 21.9 of 21.2 GiB, on
            any number of GPUs (logits 11.7)
note    host memory: about 271 GiB per machine to load and save
"""


def test_the_answer_for_llama_3_1_8b() -> None:
    found = size("Llama-3.1-8B", on="p5.48xlarge,p4d.24xlarge,g5.48xlarge")
    assert report(found, 120) == WIDE.splitlines()
    assert report(found, 80) == NARROW.splitlines()


@pytest.mark.parametrize("width", [80, 120])
@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(list(known_models())),
    strategy=st.sampled_from(["auto", "lora", "fsdp"]),
    loss=st.sampled_from(["eager", "fused"]),
    batch=st.sampled_from([1, 16]),
)
def test_no_line_is_wider_than_the_terminal(width: int, name: str, strategy: str, loss: str, batch: int) -> None:
    options = SizeOptions(strategy=strategy, loss=loss, batch=batch)  # type: ignore[arg-type]
    lines = report(size(name, options), width)
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)
    assert lines[0].startswith(name)
    assert lines[1].startswith(("needs  ", " "))


def test_columns_are_aligned() -> None:
    rows = [line for line in report(size("Llama-3.1-8B"), 200) if line.startswith(("fits ", "        ")) and " GiB  " in line]
    assert len(rows) >= 7
    assert len({line.index(" of ") for line in rows}) == 1


@pytest.mark.parametrize(
    ("number", "text"), [(10**9, "1B"), (1.5e12, "1.5T"), (350 * 10**6, "350M"), (1_234_567_890, "1,234,567,890"), (7, "7")]
)
def test_numbers_of_tokens_are_brief_where_that_is_exact(number: float, text: str) -> None:
    assert brief(number) == text


@pytest.mark.parametrize(
    ("number", "text"), [(45_090, "45,000"), (4.47, "4.5"), (61_477, "61,000"), (12.4, "12"), (0.123, "0.12"), (995, "1,000")]
)
def test_figures_have_two_digits(number: float, text: str) -> None:
    assert two_digits(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        ((16_270, 22_200), "4.5-6.2 h"),
        ((40_000, 51_562), "11-14 h"),
        ((30, 50), "30-50 s"),
        ((90, 200), "1.5-3.3 min"),
        ((5e5, 9e5), "5.8-10 d"),
    ],
)
def test_times_are_in_the_unit_that_suits(seconds: tuple[float, float], text: str) -> None:
    assert duration(*seconds) == text


def test_prices_are_shown_with_their_date() -> None:
    prices = Prices(datetime.date(2026, 11, 1), "USD", {"p5.48xlarge": 60.0})
    lines = report(size("Llama-3.1-8B", on="p5.48xlarge", prices=prices), 200)
    assert any("60.00 USD/h, 270-370 USD for 1B tokens" in line for line in lines)
    assert "note    prices of 2026-11-01, in USD, from your file" in lines


def test_no_verdict_is_explained_once() -> None:
    lines = report(size("Mixtral-8x7B"), 200)
    assert sum("mixtures of experts are not modeled" in line for line in lines) == 1


def test_what_would_help_is_shown_where_nothing_fits() -> None:
    lines = report(size("Llama-3.1-8B", on="g5.48xlarge"), 120)
    assert "try     --loss fused: fits on 16 x g5.48xlarge" in lines
