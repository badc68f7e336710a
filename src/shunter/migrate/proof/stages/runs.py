"""The stage `runs`: comparisons of runs, read from the output of `migrate compare` or `migrate test`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shunter.migrate.findings import Finding
from shunter.migrate.proof.proving import Proof, StageResult
from shunter.migrate.proof.topics import TRAINED_DIFFERENTLY
from shunter.migrate.run_verdicts import PASSED, Verdict


class RunComparison(msgspec.Struct, frozen=True):
    """One comparison in the output of `shunter migrate compare -o json`."""

    verdict: Verdict
    original: str
    """`PyTorchJob training/mnist`."""
    successor: str

    def is_about(self, title: str) -> bool:
        """Whether its original is the job with this title, whose namespace may be missing if it is from a file."""
        kind, _, key = self.original.partition(" ")
        return title in (self.original, f"{kind} {key.rpartition('/')[2]}")


def with_comparisons(proof: Proof, comparisons: Sequence[RunComparison]) -> Proof:
    """The proof with the stage `runs`, if all stages before it hold and a comparison is about the job; of several, the worst
    counts."""
    source = proof.conversion.source
    own = [comparison for comparison in comparisons if comparison.is_about(source.title)]
    if not own or not proof.holds:
        return proof
    found = worst(own)
    if found.verdict == "not comparable":
        return proof.with_result(
            StageResult("runs", (), f"{found.successor or 'its successor'} was not comparable", was_tried=False)
        )
    if found.verdict == "different":
        text = f"{found.successor} did not train as {source.title} did."
        return proof.with_result(StageResult("runs", (Finding(TRAINED_DIFFERENTLY, source.title, source.place(), (), text),)))
    return proof.with_result(StageResult("runs", (), f"{found.verdict}: {found.successor}"))


def worst(comparisons: Sequence[RunComparison]) -> RunComparison:
    """The first with the worst verdict; `different` is worse than `not comparable`. ValueError if there is none."""
    return max(comparisons, key=lambda comparison: _BADNESS.index(comparison.verdict))


_BADNESS: tuple[Verdict, ...] = (*PASSED, "not comparable", "different")
