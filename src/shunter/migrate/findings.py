"""Findings about objects: a Topic for each thing that can be reported, a Finding each time that it is.

Topics stand beside the rule that reports them; `catalogue.topics()` finds them all. Their ids are a promise: reports,
suppressions and scripts name them, so an id is never given to anything else.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

from shunter.migrate.paths import Path, path_text

Severity = Literal["info", "warning", "error"]
Impact = Literal["none", "advisory", "blocking"]
Change = Literal["lossless", "lossy", "semantic-change", "manual", "unsupported"]
Grade = Literal["E", "Q", "D", "L", "N"]
"""Exact, equivalent by another mechanism, degraded, lossy, not expressible: from best to worst."""
GRADES: tuple[Grade, ...] = ("E", "Q", "D", "L", "N")
USUAL_IMPACTS: dict[Severity, Impact] = {"info": "none", "warning": "advisory", "error": "blocking"}


class Topic(NamedTuple):
    """`Topic("TTL001", ...)`: an area and a number, as linters name their rules."""

    id: str
    title: str
    """Half a sentence: `the job object stays when its pods are removed`."""
    severity: Severity
    change: Change
    grade: Grade
    explanation: str
    """What v1 did, what v2 does, and why it matters; shown by `explain`."""
    remedy: str
    effort: int = 1
    """Points on the scale 0, 1, 3, 5, 7, 13: nothing to do, a glance, ..., a project."""
    other_impact: Impact | None = None
    """The impact, where it is not the usual one of its severity."""
    upstream: str = ""
    """The issue upstream that it is about: `kubeflow/trainer#2899`."""
    acceptable: bool = False
    """Whether a blocking finding of this topic may be suppressed with `--accept ID`."""
    explains: tuple[str, ...] = ()
    """What differs in pods because of it: `env.PET_NNODES`, `program`, `spec.restartPolicy`, `pods`, `group`, `ending.success`
    (`proof/explanations`). When empty it explains what differs in the very field that a finding is about."""
    limits_proof: bool = False
    """Whether it says that a program reads what changes: the pods are compared, what the program makes of the value is not."""

    @property
    def impact(self) -> Impact:
        """What a finding of it stops: an error usually blocks, a warning advises, an info does nothing."""
        return self.other_impact or USUAL_IMPACTS[self.severity]

    def suppression_reason(self, accepted: Collection[str]) -> str:
        """Why a finding of this topic is suppressed, where these ids are accepted; empty when it stands."""
        return "accepted with --accept" if self.acceptable and self.id in accepted else ""


NO_DIFFERENCE = ("none",)
"""What a topic explains that is about a field which is the same in both."""


class Place(NamedTuple):
    """`jobs/bert.yaml:12:7`; an object of a cluster has no line, its field is named instead."""

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source


class Finding(NamedTuple):
    """A topic, reported for one object or for one field of it."""

    topic: Topic
    object: str
    """`PyTorchJob training/bert`."""
    place: Place
    path: Path
    """The field of the source object; empty when it is about all of it."""
    message: str
    """A sentence with the names and values at hand."""
    remedy: str = ""
    """What to do in this very case, where the topic's own remedy can be said better."""
    target: str = ""
    """The field of the result that it is about: `TrainJob spec.trainer.numNodes`."""
    suppressed: str = ""
    """Why it was suppressed, in the words of `migration.yaml` or `--accept`; empty for a finding that is not suppressed."""

    @property
    def is_blocking(self) -> bool:
        """Whether the result must not be used until something is changed or the finding is suppressed."""
        return self.topic.impact == "blocking" and not self.suppressed

    @property
    def limits_proof(self) -> bool:
        """Whether the comparison of pods cannot show the effect of this finding, even where it is suppressed."""
        return self.topic.limits_proof

    @property
    def field(self) -> str:
        """`spec.runPolicy.suspend`; empty for a finding about the whole object."""
        return path_text(self.path)

    @property
    def advice(self) -> str:
        """What to do: in this very case, where that is known, else what the topic advises."""
        return self.remedy or self.topic.remedy


def worst(grades: list[Grade]) -> Grade:
    """The grade that loses most; `E` (exact) where there is none at all."""
    return max(grades, key=GRADES.index, default="E")
