"""How random objects take some of the fields that they could have."""

from __future__ import annotations

import random

from shunter.api.meta import Json


def some(rng: random.Random, fields: Json, chance: float) -> Json:
    """Each of the fields with this chance."""
    return {name: value for name, value in fields.items() if rng.random() < chance}
