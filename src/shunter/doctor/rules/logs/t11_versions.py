"""T11: ranks run different versions. Does not claim that the job failed because of it, unless NCCL says so."""

from __future__ import annotations

import re

from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.places import rank_list
from shunter.doctor.rules.rule import Rule
from shunter.doctor.verdicts import Confidence, Excerpt, Verdict
from shunter.jobs.training_pods import training_container

_VERSIONS = re.compile(r"\b(NCCL version \d[\w.+]*|torch(?:\.__version__)?[ =:]+\d+\.\d+\.\d[\w.+]*)")
_REFUSED = re.compile(r"NCCL.*(?:[Mm]ismatched? (?:collective )?version|version mismatch)|Bootstrap.*version")


def judge(case: Case) -> list[Verdict]:
    """By image ids that differ under one image name, and versions of torch or NCCL in logs. Certain only where the error of a
    failure says that versions do not match; else only possible, as nothing shows that it matters."""
    images: dict[str, dict[str, list[str]]] = {}
    for pod in case.ranked:
        name = training_container(pod)
        status: Json = next((one for one in pod.get("status", {}).get("containerStatuses") or () if one["name"] == name), {})
        image = next(str(one.get("image", "")) for one in pod["spec"]["containers"] if one["name"] == name)
        if status.get("imageID"):
            images.setdefault(image, {}).setdefault(status["imageID"], []).append(pod["metadata"]["name"])
    told: dict[str, list[str]] = {}
    for rank_pod, log in case.rank_logs.items():
        lines = case.rank_lines[rank_pod] if "torch" in log or "NCCL version" in log else []
        for said in {match[1].rstrip(".") for line in lines if (match := _VERSIONS.search(line.text))}:
            told.setdefault(said, []).append(rank_pod)
    # NCCL says its version now with, now without what it was built for (2.28.9+cuda13.0): without says less, not other.
    for short in list(told):
        full = [one for one in told if one.startswith(f"{short}+")]
        if len(full) == 1:
            told[full[0]] += [one for one in told[short] if one not in told[full[0]]]
        if full:
            del told[short]
    groups = [by_id for by_id in images.values() if len(by_id) > 1]
    kinds = {said.split()[0] for said in told}
    groups += [same for kind in kinds if len(same := {said: pods for said, pods in told.items() if said.startswith(kind)}) > 1]
    confidence: Confidence = "certain" if any(_REFUSED.search(one.whole) for one in case.failures) else "possible"
    return [_verdict(case, by_version, confidence) for by_version in groups]


def _verdict(case: Case, by_version: dict[str, list[str]], confidence: Confidence) -> Verdict:
    parts = [f"{rank_list(case.ranks_of(pods))}: {version}" for version, pods in by_version.items()]
    return Verdict(
        id="T11",
        title="VERSIONS DIFFER",
        cause="; ".join(parts),
        confidence=confidence,
        ranks=case.ranks_of(pod for pods in by_version.values() for pod in pods),
        pods=tuple(pod for pods in by_version.values() for pod in pods),
        evidence=tuple(Excerpt(source="pod", text=version, pod=pod) for version, pods in by_version.items() for pod in pods),
        remedy="Use the image's digest, so that all ranks get the same image.",
    )


RULE = Rule("T11", judge)
