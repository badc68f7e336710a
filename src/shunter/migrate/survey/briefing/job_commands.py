"""What to type next about one v1 job: whole command lines."""

from __future__ import annotations

import shlex

from shunter.migrate.conversion.source.provider import STANDARD_INPUT
from shunter.migrate.survey.briefing.facts import Job


def commands(job: Job, *, is_live: bool, options: str = "") -> list[str]:
    """All of them. `options` are those by which a command reaches the cluster, such as ` --context prod`, with a blank before."""
    row = job.entry
    if row.job_class == "finished":
        line = command("backup", row.kind, row.namespace, row.name, options)
        listed = [f"{line}   # it has ended: keep it, do not run it again"]
    elif is_live:
        verbs = ("convert", "validate", "diff", "test", "compare")
        listed = [command(verb, row.kind, row.namespace, row.name, options) for verb in verbs]
    else:
        given = _given(job.outcome.source.source, _in(row.namespace))
        listed = [f"shunter migrate {verb} {given}" for verb in ("convert", "validate", "diff")]
    return [*listed, *map(explaining, row.topics)]


def command(verb: str, kind: str, namespace: str, name: str, options: str) -> str:
    """The line of a verb of `shunter migrate` for a job of a cluster. backup and convert take all jobs of its namespace."""
    space = f"{_in(namespace)}{options}"
    match verb:
        case "backup":
            return f"shunter migrate backup backup/{space}"
        case "convert":
            return f"shunter migrate convert --cluster{space}"
        case "validate" | "diff":
            return f"shunter migrate {verb} --cluster {kind.lower()}/{name}{space}"
        case _:
            return f"shunter migrate {verb} {kind.lower()}/{name}{space}"


def explaining(topic: str) -> str:
    """The line that explains a finding, which asks no cluster."""
    return f"shunter migrate explain {topic}"


def _in(namespace: str) -> str:
    return f" -n {namespace}" if namespace else ""


def _given(source: str, space: str) -> str:
    """The flags that name an input, as `cli.migrate.options.inputs` calls what it reads."""
    if source == STANDARD_INPUT:
        return "-f -"
    for beginning, flag, more in (("kustomize build ", "-k", ""), ("helm release ", "--helm-release", space)):
        if source.startswith(beginning):
            return f"{flag} {shlex.quote(source.removeprefix(beginning))}{more}"
    return f"-f {shlex.quote(source)}"
