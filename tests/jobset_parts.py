"""Parts of the JobSet that a TrainJob becomes."""

from __future__ import annotations

from shunter.api.meta import Json


def replicated_job(jobset: Json) -> Json:
    first: Json = jobset["spec"]["replicatedJobs"][0]
    return first


def node(jobset: Json) -> Json:
    container: Json = replicated_job(jobset)["template"]["spec"]["template"]["spec"]["containers"][0]
    return container


def environment(jobset: Json) -> dict[str, str | None]:
    return {variable["name"]: variable.get("value") for variable in node(jobset).get("env", [])}
