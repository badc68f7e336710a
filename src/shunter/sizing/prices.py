"""Prices of machines, from the user's own file: none are known here, as they differ by region, contract and day.

date: 2026-11-01
currency: USD
hourly: {p5.48xlarge: 55.04, g6e.48xlarge: 30.13}
"""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path

import yaml

from shunter.errors import InputError


@dataclasses.dataclass(frozen=True)
class Prices:
    """Money an hour for one machine of a type."""

    date: datetime.date
    currency: str
    hourly: dict[str, float]


def read_prices(path: Path) -> Prices:
    """The prices of this file. InputError, naming file, field and value, for what is none."""
    try:
        found = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    except FileNotFoundError:
        raise InputError(f"--prices {path}: no such file.", "It holds date, currency and hourly: docs/sizing.md.") from None
    except OSError as error:
        raise InputError(f"--prices {path}: cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"--prices {path}: not YAML: {str(error).splitlines()[0]}.") from error
    remedy = "Write date: 2026-11-01, currency: USD and hourly: {TYPE: PRICE}."
    if not isinstance(found, dict) or not isinstance(found.get("hourly"), dict):
        raise InputError(f"--prices {path}: hourly is missing.", remedy)
    date = found.get("date")
    if not isinstance(date, datetime.date) or isinstance(date, datetime.datetime):
        raise InputError(f"--prices {path}: date is {date!r}; it must be the day of the prices.", remedy)
    currency = found.get("currency")
    if not isinstance(currency, str) or not currency:
        raise InputError(f"--prices {path}: currency is {currency!r}.", remedy)
    for name, price in found["hourly"].items():
        if not isinstance(price, int | float) or isinstance(price, bool) or not 0 <= price < 1e9:
            raise InputError(f"--prices {path}: hourly.{name} is {price!r}; it must be a price.", remedy)
    return Prices(date, currency, {str(name): float(price) for name, price in found["hourly"].items()})
