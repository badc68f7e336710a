"""What the programs of a container read of their own pod: those that its words, hooks and probes write out, and the files of
ConfigMaps that it mounts. What stands in its image is not looked into.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from shunter.api.meta import Json
from shunter.migrate.launch import python_reads, shell_reads
from shunter.migrate.launch.arguments import Spot
from shunter.migrate.launch.inline_python import code_words
from shunter.migrate.launch.mounted_files import File, FindConfigMap, mounted_files
from shunter.migrate.launch.reads import HOST_NAME, OF_HOST_NAME, Read, is_rank, line_of
from shunter.migrate.launch.understanding import Text, understood
from shunter.migrate.launch.wrappers import program_name
from shunter.migrate.paths import Path, value_at

_HOOKS: tuple[Path, ...] = (
    ("lifecycle", "postStart", "exec"),
    ("lifecycle", "preStop", "exec"),
    ("startupProbe", "exec"),
    ("livenessProbe", "exec"),
    ("readinessProbe", "exec"),
)
_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_DATA = frozenset({
    ".cfg", ".conf", ".csv", ".ini", ".ipynb", ".json", ".md", ".properties", ".toml", ".tsv", ".txt", ".xml", ".yaml", ".yml",
})  # fmt: skip
_MENTION = re.compile(r"\$\{?HOSTNAME\b|\$\(hostname\b|`hostname\b|/etc/hostname\b|\bgethostname\b")
"""The host name in a text of which nobody knows the language."""


class PodRead(NamedTuple):
    read: Read
    spot: Spot
    """Where it stands: the path is that of the text, below the container or in its file."""
    line: str
    """The line of the text that it is in."""
    number: int
    """Of the line, from 1."""


def pod_reads(container: Json, volumes: Sequence[Json], find: FindConfigMap, variables: Mapping[str, str]) -> list[PodRead]:
    """All of them, each place once. `variables` are those of the environment that hold a value of the pod, with what each is
    called."""
    found: dict[tuple[str, Path, int], PodRead] = {}
    for one in _all(container, volumes, find, variables):
        key = one.spot.file, one.spot.path, one.spot.start
        if key not in found or (one.read.decides and not found[key].read.decides):
            found[key] = one
    return [*found.values()]


def texts(container: Json, volumes: Sequence[Json], find: FindConfigMap) -> Iterator[Text]:
    """The programs that could be read: of its words, hooks and probes, and files that it mounts without starting them."""
    seen = set()
    for path, words in _commands(container):
        pseudo = {**container, "command": [word for _, word in words], "args": None} if path else container
        for text in understood(pseudo, volumes, find).texts:
            if not text.spot.file:
                text = text._replace(spot=text.spot._replace(path=(*path, *text.spot.path)))
            seen.add((text.spot.file, text.spot.path))
            yield text
    for place, file in mounted_files(container, volumes, find).items():
        if (file.spot.file, file.spot.path) not in seen and (language := _language(place, file)):
            yield Text(language, file.text, file.spot)


def words_and_texts(container: Json, volumes: Sequence[Json], find: FindConfigMap) -> Iterator[tuple[str, Spot]]:
    """All that stands in words, hooks, probes and mounted files, whoever reads it, each once."""
    seen: set[tuple[str, Path]] = set()
    for _, text, spot in texts(container, volumes, find):
        seen.add((spot.file, spot.path))
        yield text, spot
    for _, words in _commands(container):
        for path, word in words:
            if ("", path) not in seen:
                yield word, Spot(path, 0, len(word), is_item=True)


def _all(container: Json, volumes: Sequence[Json], find: FindConfigMap, variables: Mapping[str, str]) -> Iterator[PodRead]:
    read_as_text: set[Path] = set()
    known: set[tuple[str, Path]] = set()
    for language, text, spot in texts(container, volumes, find):
        read_as_text.add(spot.path)
        known.add((spot.file, spot.path))
        found = shell_reads.reads(text, variables) if language == "shell" else python_reads.reads(text, variables)
        yield from (_at(read, text, spot) for read in found)
    for _, words in _commands(container):
        yield from (one for one in _of_words(words, variables) if one.spot.path not in read_as_text)
    for place, file in mounted_files(container, volumes, find).items():
        if (file.spot.file, file.spot.path) not in known and PurePosixPath(place).suffix not in _DATA:
            for match in _MENTION.finditer(file.text):
                yield _at(Read(HOST_NAME, match.start(), decides=False), file.text, file.spot)


def _commands(container: Json) -> Iterator[tuple[Path, list[tuple[Path, str]]]]:
    """What the container runs, with where it stands, word by word; of command and args together the first is empty."""
    yield (), [((field, number), word) for field in ("command", "args") for number, word in enumerate(container.get(field) or ())]
    for path in _HOOKS:
        hook = value_at(container, path)
        words = hook.get("command") if isinstance(hook, dict) else None
        if words:
            yield path, [((*path, "command", number), str(word)) for number, word in enumerate(words)]


def _of_words(words: Sequence[tuple[Path, str]], variables: Mapping[str, str]) -> Iterator[PodRead]:
    """Words that no shell reads."""
    for number in code_words([word for _, word in words]):
        path, code = words[number]
        yield from (_at(read, code, Spot(path, 0, len(code), is_item=True)) for read in python_reads.reads(code, variables))
    before = ""
    for path, word in words:
        option = word.partition("=")[0] if word.startswith("-") else before
        found = [
            Read(variables[match[1]], match.start(), is_rank(option))
            for match in _REFERENCE.finditer(word)
            if match[1] in variables
        ]
        found += [Read(HOST_NAME, word.find(name), decides=False) for name in OF_HOST_NAME if name in word]
        if len(words) == 1 and program_name(word) == "hostname":
            found.append(Read(HOST_NAME, 0, decides=False))
        yield from (_at(read, word, Spot(path, 0, len(word), is_item=True)) for read in found)
        before = word if word.startswith("-") else ""


def _at(read: Read, text: str, spot: Spot) -> PodRead:
    where = spot._replace(start=spot.start + read.start, is_item=False)
    return PodRead(read, where, line_of(text, read.start), text.count("\n", 0, read.start) + 1)


def _language(place: str, file: File) -> Literal["shell", "python"] | None:
    suffix, first = PurePosixPath(place).suffix, file.text.partition("\n")[0]
    if suffix == ".py" or (first.startswith("#!") and "python" in first):
        return "python"
    if suffix in {".sh", ".bash", ".ksh", ".zsh"} or (first.startswith("#!") and re.search(r"\b(?:ba|da|k|z)?sh\b", first)):
        return "shell"
    return None
