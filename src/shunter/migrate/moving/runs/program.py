"""Reads and sets the flags and variables of a container's program in its manifest."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.errors import InputError

_FLAG = re.compile(r"(--?[A-Za-z][\w.-]*|[A-Za-z_][\w./-]*)=(.*)", re.DOTALL)


class Setting(NamedTuple):
    """A flag or variable of a program."""

    name: str
    """`--output-dir`, or the variable's name; empty for a word that no flag precedes."""
    value: str


def with_variable(container: Json, name: str, value: str) -> None:
    """Sets a variable of the container, or replaces an existing one."""
    env = container.get("env") or []
    if any(entry.get("name") == name for entry in env):
        container["env"] = [{"name": name, "value": value} if entry.get("name") == name else entry for entry in env]
    else:
        container["env"] = [*env, {"name": name, "value": value}]


def with_argument(container: Json, flag: str, value: str, title: str) -> None:
    """Sets a flag of the program: replaces an existing one, else appends it. InputError if it would be appended to a shell
    script."""
    for field in ("args", "command"):
        words = list(container.get(field) or [])
        for place, word in enumerate(words):
            replaced = _with_flag(words, place, word, flag, value)
            if replaced is not None:
                container[field] = replaced
                return
    if any(_is_text(word) for word in [*(container.get("command") or []), *(container.get("args") or [])]):
        raise InputError(
            f"{title}: {flag} is not in the text that the shell of container {container.get('name')} runs.",
            "Set a variable instead (--env NAME=VALUE, --steps-env NAME), and let the program read it.",
        )
    field = "args" if container.get("args") or not container.get("command") else "command"
    container[field] = [*(container.get(field) or []), flag, value]


def settings(words: Sequence[str], environment: dict[str, str]) -> Iterator[Setting]:
    """Everything that a program is given: flags with their values, words of their own, variables. Texts for a shell are taken
    apart."""
    split = [part for word in words for part in (_split(word) if _is_text(word) else [word])]
    flag = ""
    for word in split:
        if match := _FLAG.fullmatch(word):
            yield Setting(match[1], match[2])
            flag = ""
        elif word.startswith("-"):
            flag = word
        else:
            yield Setting(flag, word)
            flag = ""
    for name, value in environment.items():
        yield Setting(name, value)


def _with_flag(words: list[str], place: int, word: str, flag: str, value: str) -> list[str] | None:
    if word == flag and place + 1 < len(words):
        return [*words[: place + 1], value, *words[place + 2 :]]
    if word.startswith(f"{flag}="):
        return [*words[:place], f"{flag}={value}", *words[place + 1 :]]
    if _is_text(word):
        pattern = re.compile(rf"(?<![\w-]){re.escape(flag)}(?P<joint>=|\s+)(?P<value>'[^']*'|\"[^\"]*\"|[^\s;|&]+)")
        text, count = pattern.subn(lambda match: f"{flag}{match['joint']}{shlex.quote(value)}", word)
        return [*words[:place], text, *words[place + 1 :]] if count else None
    return None


def _is_text(word: str) -> bool:
    """Whether a word is a text for a shell, and no word of a command line."""
    return bool(re.search(r"\s", word))


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()
