"""Helm releases whose manifests contain v1 jobs."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.migrate.conversion.source.documents import parsed
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.versions import is_convertible
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import Facts, Fault, UnknownFactError

TOPIC = Topic(
    id="READY013",
    title="no Helm release contains v1 jobs",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "Helm keeps manifests of releases in Secrets. While such a manifest contains v1 jobs, the release can be neither "
        "upgraded nor uninstalled after the CRDs of v1 are deleted: it fails with 'unable to build kubernetes objects'."
    ),
    remedy="Upgrade the release with a chart that creates TrainJobs. Until then the CRDs of v1 stay (apply --finalize).",
    effort=3,
    upstream="helm/helm-mapkubeapis#12",
)


def applies(facts: Facts) -> bool:
    """Whether there are releases, or Secrets may not be listed."""
    return facts.releases is None or bool(facts.releases)


def faults(facts: Facts) -> Iterator[Fault]:
    """One for each release that contains v1 jobs. UnknownFactError if Secrets may not be listed."""
    if facts.releases is None:
        raise UnknownFactError("Secrets, in which Helm keeps its releases, may not be listed")
    for release, manifest in facts.releases:
        if held := jobs_in(release, manifest):
            yield Fault(f"it contains {', '.join(held)}.", f"Helm release {release}")


def jobs_in(release: str, manifest: str) -> list[str]:
    """The v1 jobs in a release's manifest, by their titles."""
    return [source.title for source in _sources(release, manifest)]


def kinds_in(release: str, manifest: str) -> list[str]:
    """The kinds of v1 jobs in a release's manifest."""
    return sorted({source.kind for source in _sources(release, manifest)})


def _sources(release: str, manifest: str) -> Iterator[SourceObject]:
    found = (source for document in parsed(manifest, release) for source in document.objects)
    return (source for source in found if is_convertible(source))
