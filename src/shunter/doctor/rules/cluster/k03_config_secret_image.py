"""K03: a ConfigMap, a Secret, a key of one or an image does not exist, or a volume cannot be mounted.

In the node's words. Does not say which other keys exist, nor why a registry refuses: some answer 401 and 404 alike.
"""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.rules.carried import of_blocked_pods
from shunter.doctor.rules.rule import Rule, pods_and_events
from shunter.doctor.verdicts import Verdict

WORDS = ("MissingConfigMap", "MissingSecret", "ImagePull", "ConfigError", "VolumeMount")


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the causes of blocked pods, one verdict for each text: what is missing or cannot be mounted. Not why a
    registry refuses."""
    return of_blocked_pods(case, "K03", "CANNOT START", WORDS, state="not started")


RULE = Rule("K03", judge, pods_and_events)
