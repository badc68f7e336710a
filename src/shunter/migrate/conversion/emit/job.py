"""The documents that one job becomes: its runtime, unless another job's conversion has written it, and the TrainJob."""

from __future__ import annotations

from typing import NamedTuple

from shunter.api.meta import Json
from shunter.migrate.conversion.emit.comments import CommentPlacement
from shunter.migrate.conversion.emit.layout import FieldComments, Layout, layout_of
from shunter.migrate.conversion.emit.origins import Origins
from shunter.migrate.conversion.emit.writer import lines_of
from shunter.migrate.conversion.ledger import Manifest, Target
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.source.objects import SourceObject

SEPARATOR = "---\n"
_REFERENCE: Target = Target("TrainJob", ("spec", "runtimeRef"))


class Written(NamedTuple):
    """Texts that end in a line break, or are empty."""

    head: str
    """Comments that stood at the top of the source's document, apart from the object."""
    runtime: str
    train_job: str
    tail: str
    """What stood behind the object."""

    @property
    def text(self) -> str:
        """All of it, the runtime before the TrainJob that refers to it, a separator between them."""
        inner = SEPARATOR.join(part for part in (self.runtime, self.train_job) if part)
        return self.head + inner + self.tail


def text_of(conversion: Conversion) -> str:
    """The runtime, if it has one of its own, and the TrainJob, as a YAML stream."""
    return written(conversion, is_whole_document=True).text


def written(conversion: Conversion, *, is_whole_document: bool, runtime_text: str | None = None) -> Written:
    """`runtime_text` is what was written of the same runtime for another job: it is not written again, and comments about it that
    are not in there stand at the TrainJob's reference to it. No comment of the source is lost, wherever it stood."""
    layout = layout_of(conversion.source, is_whole_document=is_whole_document)
    origins = Origins(conversion.rows)
    results: dict[Manifest, Json] = {"TrainJob": conversion.train_job}
    if conversion.runtime is not None:
        results["TrainingRuntime"] = conversion.runtime
    placed = CommentPlacement(layout, origins, results)
    runtime = ""
    if conversion.runtime is not None and runtime_text is None:
        runtime = _joined(lines_of(conversion.runtime, "TrainingRuntime", layout, origins, placed, is_compact=True))
    elif runtime_text is not None:
        _move_to_reference(placed, runtime_text)
    lines = lines_of(conversion.train_job, "TrainJob", layout, origins, placed, is_compact=True)
    head, tail = _joined(layout.head), _joined(layout.tail)
    top = next((at for at, line in enumerate(lines) if not line.startswith("#")), 0)
    lines[top:top] = [*placed.head, *_missing(layout, head + runtime + _joined(lines) + tail + (runtime_text or ""), placed.head)]
    return Written(head, runtime, _joined(lines), tail)


def plain_text(value: Json) -> str:
    """An object that is in no source, in the usual layout."""
    origins = Origins(())
    return _joined(lines_of(value, "TrainJob", Layout(), origins, CommentPlacement(Layout(), origins, {})))


def comments_missing_in(text: str, source: SourceObject) -> list[str]:
    """The comments of a document that a text does not have."""
    layout = layout_of(source, is_whole_document=True)
    return [line for line in (*layout.head, *_missing(layout, text, []), *layout.tail) if line and line not in text]


def _move_to_reference(placed: CommentPlacement, runtime_text: str) -> None:
    said = {line.strip() for line in runtime_text.splitlines()}
    for target, remarks in list(placed.remarks.items()):
        if target.manifest == "TrainingRuntime":
            lines = [line for line in remarks.comments() if line not in said and line not in runtime_text]
            if lines:
                placed.remarks.setdefault(_REFERENCE, FieldComments()).before += lines


def _missing(layout: Layout, text: str, known: list[str]) -> list[str]:
    """Comments whose field is in the result and was not written by itself: those within a list that is written in one line."""
    comments = (comment for remarks in layout.remarks.values() for comment in remarks.comments())
    named = "\n".join(known)
    return [comment for comment in comments if comment not in text and comment not in named]


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
