"""Kueue: whether it admits TrainJobs as it admitted v1 jobs."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, ValidationError, convert
from yaml import YAMLError

from shunter.api.formats.counts import count
from shunter.api.resources import CONFIG_MAPS
from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.api.yaml import load_yaml
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import KUEUE, Facts, Fault, UnknownFactError

TOPIC = Topic(
    id="READY008",
    title="Kueue manages TrainJobs",
    severity="error",
    change="manual",
    grade="N",
    explanation=(
        "Kueue admits only jobs of the frameworks that its configuration lists. If TrainJobs are not listed, a TrainJob with a "
        "queue label starts at once, regardless of quotas; v1's frameworks are off by default since Kueue 0.19."
    ),
    remedy=(
        "Add trainer.kubeflow.org/trainjob to integrations.frameworks in Kueue's configuration, in addition to v1's frameworks."
    ),
    effort=3,
    upstream="kubernetes-sigs/kueue#12606",
)
CONFIGURATION = ("kueue-system", "kueue-manager-config")
_TRAIN_JOB = "trainer.kubeflow.org/trainjob"


class _Integrations(Struct, frozen=True):
    frameworks: tuple[str, ...] | None = None


class _Configuration(Struct, frozen=True):
    """The part of Kueue's configuration that is read."""

    integrations: _Integrations | None = None


def applies(facts: Facts) -> bool:
    """Whether the cluster has Kueue, or a v1 job has a queue label."""
    return facts.serves_group(KUEUE) or bool(_queued(facts))


def faults(facts: Facts) -> Iterator[Fault]:
    """Frameworks that Kueue's configuration does not list. UnknownFactError if that is not in its usual ConfigMap."""
    queued = _queued(facts)
    if not facts.serves_group(KUEUE):
        yield Fault(
            f"{count(len(queued), 'job has', 'jobs have')} a queue label, but the cluster has no Kueue: {', '.join(queued[:3])}.",
            remedy="Remove the label, or install Kueue.",
            impact="advisory",
        )
        return
    enabled = _frameworks(facts)
    if _TRAIN_JOB not in enabled:
        yield Fault(f"its integrations.frameworks does not list {_TRAIN_JOB}.", impact="blocking" if queued else "advisory")
    v1 = {f"kubeflow.org/{queued_title.partition(' ')[0].lower()}" for queued_title in queued}
    for framework in sorted(v1):
        if framework not in enabled:
            yield Fault(
                f"its integrations.frameworks does not list {framework}, of which there are queued jobs.",
                remedy=f"Add {framework} to integrations.frameworks until they are moved.",
                impact="advisory",
            )


def _frameworks(facts: Facts) -> frozenset[str]:
    """What integrations.frameworks of Kueue's configuration lists."""
    texts = [
        value
        for config_map in facts.all(CONFIG_MAPS)
        if (config_map["metadata"]["namespace"], config_map["metadata"]["name"]) == CONFIGURATION
        for value in (config_map.get("data") or {}).values()
    ]
    if not texts:
        raise UnknownFactError(f"Kueue's configuration is not in ConfigMap {'/'.join(CONFIGURATION)}")
    try:
        read = [convert(load_yaml(text), _Configuration).integrations for text in texts]
    except (YAMLError, ValidationError) as error:
        raise UnknownFactError(f"Kueue's configuration, ConfigMap {'/'.join(CONFIGURATION)}, cannot be read: {error}") from None
    return frozenset(name for integrations in read if integrations for name in integrations.frameworks or ())


def _queued(facts: Facts) -> list[str]:
    """The titles of v1 jobs with a queue label."""
    jobs = (outcome.source for outcome in facts.unfinished)
    return [job.title for job in jobs if (job.metadata.get("labels") or {}).get(QUEUE_LABEL)]
