"""K03: a ConfigMap, a Secret, a key of one or an image is not there, or a volume cannot be mounted.

Says what the node says. Does not say which other keys exist, nor why a registry refuses: 401 and 404 look alike on some.
"""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.rules.carried import of_blocked_pods
from shunter.doctor.rules.rule import Rule, pods_and_events
from shunter.doctor.verdicts import Verdict

WORDS = ("MissingConfigMap", "MissingSecret", "ImagePull", "ConfigError", "VolumeMount")


def judge(case: Case) -> list[Verdict]:
    """By the causes of blocked pods, one verdict for each text: what is missing or cannot be mounted. Not why a registry
    refuses."""
    return of_blocked_pods(case, "K03", "CANNOT START", WORDS, state="not started")


RULE = Rule("K03", judge, pods_and_events)
