"""Jobs of one input that are one to a cluster: applied together, the last would take the place of the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePath

from shunter.migrate.findings import Finding, Topic
from shunter.migrate.source.objects import SourceObject

SAME_NAME = Topic(
    id="INPUT018",
    title="two jobs of one kind and name",
    severity="error",
    impact="blocking",
    change="manual",
    grade="L",
    explanation=(
        "Two jobs that are applied together have the same kind, namespace and name. Only the last one applied would be there, "
        "and the other training would be lost in silence. Files of one folder count as applied together; those of several "
        "folders may be for several clusters."
    ),
    remedy="Rename one of them, give them namespaces, or put what is for another cluster into a folder of its own.",
    effort=1,
    acceptable=True,
)


def collisions(sources: Iterable[SourceObject], accepted: Collection[str]) -> dict[int, Finding]:
    """What there is to tell of each job that another one would replace, by the id of its source object; `accepted` are ids of
    topics that are taken on."""
    together: dict[tuple[str, str, str, str], list[SourceObject]] = {}
    for source in sources:
        if source.metadata.get("name") and not source.is_embedded:
            folder = PurePath(source.source).parent.as_posix()
            together.setdefault((folder, source.kind, source.namespace, source.name), []).append(source)
    return {
        id(source): _finding(source, [other for other in group if other is not source], accepted)
        for group in together.values()
        if len(group) > 1
        for source in group
    }


def _finding(source: SourceObject, others: Sequence[SourceObject], accepted: Collection[str]) -> Finding:
    path = ("metadata", "name")
    places = ", ".join(str(other.place(path)) for other in others[:3])
    more = f" and in {len(others) - 3} more places" if len(others) > 3 else ""
    message = f"{source.title} stands in {places}{more} as well."
    return Finding(SAME_NAME, source.title, source.place(path), path, message, suppressed=SAME_NAME.taken_on(accepted))
