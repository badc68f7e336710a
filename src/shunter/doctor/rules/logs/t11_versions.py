"""T11: ranks run different versions. Does not claim that the job failed because of this, unless NCCL says so."""

from __future__ import annotations

import re

from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.rule import Rule
from shunter.doctor.verdicts import Confidence, Excerpt, Verdict
from shunter.jobs.training_pods import training_container

_VERSIONS = re.compile(r"\b(NCCL version \d[\w.+]*|torch(?:\.__version__)?[ =:]+\d+\.\d+\.\d[\w.+]*)")
_REFUSED = re.compile(r"NCCL.*(?:[Mm]ismatched? (?:collective )?version|version mismatch)|Bootstrap.*version")


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on different image IDs of one image name, and versions of torch or NCCL in logs. Certain only if an error
    says that versions do not match; else only possible."""
    images: dict[str, dict[str, list[str]]] = {}
    for pod in case.ranked:
        name = training_container(pod)
        status: Json = next((one for one in pod.get("status", {}).get("containerStatuses") or () if one["name"] == name), {})
        image = next(str(one.get("image", "")) for one in pod["spec"]["containers"] if one["name"] == name)
        if status.get("imageID"):
            images.setdefault(image, {}).setdefault(status["imageID"], []).append(pod["metadata"]["name"])
    pods_by_version: dict[str, list[str]] = {}
    for rank_pod, log in case.rank_logs.items():
        lines = case.rank_lines[rank_pod] if "torch" in log or "NCCL version" in log else []
        for version in {match[1].rstrip(".") for line in lines if (match := _VERSIONS.search(line.text))}:
            pods_by_version.setdefault(version, []).append(rank_pod)
    # NCCL logs its version with or without its CUDA version (2.28.9+cuda13.0): these do not differ.
    for short in list(pods_by_version):
        full = [one for one in pods_by_version if one.startswith(f"{short}+")]
        if len(full) == 1:
            pods_by_version[full[0]] += [one for one in pods_by_version[short] if one not in pods_by_version[full[0]]]
        if full:
            del pods_by_version[short]
    groups = [by_id for by_id in images.values() if len(by_id) > 1]
    kinds = {version.split()[0] for version in pods_by_version}
    for kind in kinds:
        same = {version: pods for version, pods in pods_by_version.items() if version.startswith(kind)}
        groups += [same] if len(same) > 1 else []
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
