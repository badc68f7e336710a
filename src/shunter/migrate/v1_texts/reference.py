"""One place that speaks of v1, within a file."""

from __future__ import annotations

import re
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.findings import Topic

KINDS: tuple[str, ...] = tuple(kind.resource.kind for kind in JOB_KINDS)
PLURALS: tuple[str, ...] = tuple(kind.resource.plural for kind in JOB_KINDS)
ANY_KIND = rf"(?:{'|'.join(KINDS)})"
ANY_PLURAL = rf"(?:{'|'.join(PLURALS)})"
V1_GROUP = "kubeflow.org"
WORDS: tuple[str, ...] = (
    "kubeflow", "training_operator", "training-operator", *(kind.lower() for kind in KINDS), "kfpytorch", "kftensorflow", "kfmpi",
    "23456", "replicastatuses", "condition=succeeded", "condition=running", "condition=created", "condition=restarting",
    "condition succeeded", "-master-0", "-chief-0", "-worker-", "-ps-", "-evaluator-", "-launcher",
    "pytorch_launcher", "tf_launcher",
)  # fmt: skip
"""In lower case. What holds none of them, no rule finds anything in; looking for words is much faster than for patterns."""
_OBJECT = late_pattern(rf"(?:{re.escape(V1_GROUP)}/(?:v1|\*)/)?(?:{ANY_KIND}|{ANY_PLURAL})(?:/[a-z*]+)?")


class Reference(NamedTuple):
    """`line` and `column` from 1; `length` characters of the line are what speaks of v1."""

    topic: Topic
    line: int
    column: int
    length: int
    message: str
    remedy: str = ""


def names_v1_object(text: str) -> bool:
    """Whether the text is a v1 kind or plural, perhaps with group and version before it, or a subresource behind."""
    return _OBJECT.fullmatch(text) is not None
