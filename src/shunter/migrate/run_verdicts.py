"""The verdicts of comparisons of runs: `migrate compare` gives them; cleanup, progress, proofs and reports read them."""

from __future__ import annotations

from typing import Literal

Verdict = Literal["equal", "within tolerance", "different", "not comparable"]
PASSED: tuple[Verdict, ...] = ("equal", "within tolerance")
"""The verdicts of runs that trained the same."""
