"""Prices: from the user's file alone, with its date, or refused."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.sizing import SizeOptions, size
from shunter.sizing.prices import Prices, read_prices

PRICES = Prices(datetime.date(2026, 11, 1), "USD", {"p5.48xlarge": 60.0, "p4de.24xlarge": 20.0, "g6e.48xlarge": 30.0})


def test_a_file_of_prices_is_read(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("date: 2026-11-01\ncurrency: USD\nhourly: {p5.48xlarge: 60, p4de.24xlarge: 20, g6e.48xlarge: 30.0}\n")
    assert read_prices(path) == PRICES


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("date: 2026-11-01\ncurrency: USD\n", "hourly is missing"),
        ("- 1\n", "hourly is missing"),
        ("currency: USD\nhourly: {}\n", "date is None"),
        ("date: yesterday\ncurrency: USD\nhourly: {}\n", "date is 'yesterday'"),
        ("date: 2026-11-01\nhourly: {}\n", "currency is None"),
        ("date: 2026-11-01\ncurrency: USD\nhourly: {p5.48xlarge: cheap}\n", "hourly.p5.48xlarge is 'cheap'"),
        ("date: 2026-11-01\ncurrency: USD\nhourly: {p5.48xlarge: -1}\n", "hourly.p5.48xlarge is -1"),
        ("date: [\n", "not YAML"),
    ],
)
def test_what_is_no_price_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as raised:
        read_prices(path)
    assert str(path) in raised.value.message
    assert message in raised.value.message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_prices(tmp_path / "none.yaml")


def test_the_cost_is_time_by_price_and_only_the_price_where_no_time_is_known() -> None:
    found = {option.choice.instance.name: option for option in size("Llama-3.1-8B", prices=PRICES).choices}
    dear = found["p5.48xlarge"]
    assert dear.cost is not None
    assert dear.cost.total == pytest.approx([60 * seconds / 3600 for seconds in dear.throughput.seconds])
    untimed = found["g6e.48xlarge"].cost
    assert untimed is not None
    assert (untimed.hourly, untimed.total) == (60.0, None)
    assert found["p4d.24xlarge"].cost is None


def test_the_cheapest_training_comes_first_and_what_has_no_price_last() -> None:
    fits = [option.choice.instance.name for option in size("Llama-3.1-8B", SizeOptions(), prices=PRICES).of("fits")]
    assert fits[:2] == ["p4de.24xlarge", "p5.48xlarge"]
    assert fits[-1] not in PRICES.hourly
