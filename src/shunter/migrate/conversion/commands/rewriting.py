"""The same command started by torchrun, or with an option more. Only what has to change is touched, letter by letter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.jobs.commands.arguments import Option, SourceRange
from shunter.jobs.commands.launchers import Started

_NEEDLESS_FLAGS = frozenset({"-u"})
"""Flags of Python that torchrun gives its processes anyway."""


class _Edit(NamedTuple):
    """Words in place of what stands at `spot`: none to remove it."""

    spot: SourceRange
    words: tuple[str, ...]


def with_torchrun(container: Json, found: Started) -> Json | None:
    """`command` and `args`, those that change, with the plain Python program started by torchrun; its script and arguments stay.
    None if it cannot be done: code in the command line, or a text that is not the container's own."""
    if found.launcher != "python" or found.kind not in {"script", "module"} or not found.program:
        return None
    edits = _torchrun_edits(found)
    return _edited(container, edits) if all(is_editable(edit.spot) for edit in edits) else None


def with_option(container: Json, found: Started, *options: str) -> Json | None:
    """`command` and `args`, those that change, with further options for the launcher; None if its text is not the container's."""
    last = found.head[-1] if found.head else None
    if last is None or not is_editable(last.spot):
        return None
    return _edited(container, [_Edit(last.spot, (_written(container, last.spot), *options))])


def without_options(container: Json, options: Sequence[Option]) -> Json | None:
    """`command` and `args`, those that change, without these options and their values; None if one of them is not written in the
    container's own text."""
    spots = [word.spot for option in options for word in option.words]
    return _edited(container, [_Edit(spot, ()) for spot in spots]) if all(is_editable(spot) for spot in spots) else None


def _torchrun_edits(found: Started) -> list[_Edit]:
    if not found.head:
        program = found.program[0]
        return [_Edit(program.spot, ("torchrun", program.value))]
    interpreter, flags = found.head[0], found.head[1:]
    ends_in_module = found.kind == "module"
    own_flags = flags[:-1] if ends_in_module else flags
    if (ends_in_module and flags[-1].value != "-m") or any(flag.value not in _NEEDLESS_FLAGS for flag in own_flags):
        return [_Edit(interpreter.spot, ("torchrun", "--no_python", interpreter.value))]
    removed = [_Edit(flag.spot, ()) for flag in own_flags]
    if "/" in interpreter.value:
        return [_Edit(interpreter.spot, (interpreter.value, "-m", "torch.distributed.run")), *removed]
    return [_Edit(interpreter.spot, ("torchrun",)), *removed]


def is_editable(spot: SourceRange) -> bool:
    """Whether the word there can be replaced: a file of a ConfigMap may be for other jobs as well."""
    return spot.is_exact and not spot.file


def _item(spot: SourceRange) -> tuple[str, int]:
    field, index = spot.path
    assert isinstance(field, str)
    assert isinstance(index, int)
    return field, index


def _written(container: Json, spot: SourceRange) -> str:
    field, index = _item(spot)
    text: str = container[field][index]
    return text[spot.start : spot.end]


def _edited(container: Json, edits: Sequence[_Edit]) -> Json:
    """The lists of words that change. Edits are made from the last to the first, so that places hold."""
    changed: Json = {}
    for edit in sorted(edits, key=lambda edit: (edit.spot.path, edit.spot.start), reverse=True):
        field, index = _item(edit.spot)
        words: list[str] = changed.setdefault(field, [*container[field]])
        if edit.spot.is_item:
            words[index : index + 1] = edit.words
        else:
            words[index] = _spliced(words[index], edit)
    return changed


def _spliced(text: str, edit: _Edit) -> str:
    before, after = text[: edit.spot.start], text[edit.spot.end :]
    if not edit.words:
        return before + after.lstrip(" \t")
    return before + " ".join(edit.words) + after
