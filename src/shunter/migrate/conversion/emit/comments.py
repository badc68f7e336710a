"""Where each comment of the source stands in the results: at the field that its field became, else above the TrainJob."""

from __future__ import annotations

from collections.abc import Mapping

from shunter.api.meta import Json
from shunter.migrate.conversion.emit.layout import FieldComments, Layout
from shunter.migrate.conversion.emit.origins import Origins
from shunter.migrate.conversion.ledger import Manifest, Target
from shunter.migrate.paths import MISSING, Path, path_text, value_at


class CommentPlacement:
    """The remarks of a source, at the fields of the results that they are about now."""

    def __init__(self, layout: Layout, origins: Origins, results: Mapping[Manifest, Json]) -> None:
        self.remarks: dict[Target, FieldComments] = {}
        self.head: list[str] = []
        """Comments whose field has no counterpart, with its name."""
        self.commented: set[Target] = set()
        """Fields with remarks somewhere below them."""
        for path, remarks in layout.remarks.items():
            self._place(path, remarks, origins, results)
        for manifest, path in self.remarks:
            self.commented.update(Target(manifest, path[:length]) for length in range(len(path)))

    def _place(self, path: Path, remarks: FieldComments, origins: Origins, results: Mapping[Manifest, Json]) -> None:
        targets = origins.targets(path)
        target = next((target for target in targets if _exists(target, results)), None)
        if target is not None:
            self._add(self.remarks.setdefault(target, FieldComments()), remarks)
            return
        comments = remarks.comments()
        if not comments:
            return
        target = targets[0] if targets else origins.near(path)
        while target is not None and target.path and not _exists(target, results):
            target = target._replace(path=target.path[:-1])
        if target is None or len(target.path) < 2:
            self.head += [f"{comment}  ({path_text(path)})" for comment in comments]
            return
        below = [line for line in remarks.after if line]
        above = FieldComments(before=comments[: len(comments) - len(below)], after=below)
        self._add(self.remarks.setdefault(target, FieldComments()), above)

    @staticmethod
    def _add(here: FieldComments, more: FieldComments) -> None:
        """Adds comments of a second role that the first does not have."""
        here.before += [line for line in more.before if (line and line not in here.before) or not here.comments()]
        here.inside += [line for line in more.inside if line not in here.inside]
        here.after += [line for line in more.after if line not in here.after or not line]
        if not here.behind:
            here.behind = more.behind
        elif more.behind.strip() not in (here.behind.strip(), "", *here.before):
            here.before.append(more.behind.strip())


def _exists(target: Target, results: Mapping[Manifest, Json]) -> bool:
    result = results.get(target.manifest)
    return result is not None and value_at(result, target.path) is not MISSING
