"""What the programs of a container read of their own pod: those that its words, hooks and probes write out, and the files of
ConfigMaps and Secrets that it mounts. What stands in its image is not looked into.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

import msgspec

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.jobs.commands.arguments import SourceRange
from shunter.jobs.commands.launcher_options import program_name
from shunter.jobs.commands.shells import is_shell_script
from shunter.migrate.conversion.commands import python_reads, shell_reads
from shunter.migrate.conversion.commands.encoded import decoded, decodes
from shunter.migrate.conversion.commands.inline_python import code_words, shell_code
from shunter.migrate.conversion.commands.mentions import insertions, mentions
from shunter.migrate.conversion.commands.mounted_files import TEXT_FIELDS, File, FindObject, mounted_files
from shunter.migrate.conversion.commands.python_code import is_python_code
from shunter.migrate.conversion.commands.reads import HOST_NAME, OF_HOST_NAME, UNREAD, Read, is_rank
from shunter.migrate.conversion.commands.shell_programs import PYTHONS, RUNNERS
from shunter.migrate.conversion.commands.understanding import Text, understood
from shunter.migrate.paths import Path, value_at

_HOOKS: tuple[Path, ...] = (
    ("lifecycle", "postStart", "exec"),
    ("lifecycle", "preStop", "exec"),
    ("startupProbe", "exec"),
    ("livenessProbe", "exec"),
    ("readinessProbe", "exec"),
)
_READ = (
    "name",
    "command",
    "args",
    "env",
    "envFrom",
    "workingDir",
    "volumeMounts",
    "lifecycle",
    *(path[0] for path in _HOOKS[2:]),
)
"""The fields of a container that say what it runs."""
_ASKS = late_pattern(r"[$`(]")
"""What stands before a value that is asked for, in any language."""
_SETS_HOST = late_pattern(r"\b(?:zsh|tcsh)\b")
_REFERENCE = late_pattern(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_DATA = frozenset({
    ".cfg", ".conf", ".csv", ".ini", ".ipynb", ".json", ".md", ".properties", ".toml", ".tsv", ".txt", ".xml", ".yaml", ".yml",
})  # fmt: skip
_PROGRAMS = frozenset({
    ".awk", ".cjs", ".csh", ".fish", ".go", ".java", ".jl", ".js", ".lua", ".mjs", ".mk", ".nu", ".php", ".pl", ".ps1", ".r",
    ".rb", ".scala", ".tcl", ".tcsh", ".ts",
})  # fmt: skip
_RUN_BY_NAME = frozenset(
    {"makefile", "gnumakefile", "justfile", "rakefile", "snakefile", "procfile", "taskfile.yml", "taskfile.yaml"}
)
"""Files that programs look for by their names, in small letters."""


class PodRead(NamedTuple):
    """A `Read` with the text that it stands in, and where that is."""

    read: Read
    spot: SourceRange
    """Where it stands: the path is that of the text, below the container or in its file."""
    text: str
    """All of the text that it stands in."""
    start: int
    """Where in that text."""


def pod_reads(container: Json, volumes: Sequence[Json], find: FindObject, variables: Mapping[str, str]) -> Sequence[PodRead]:
    """All of them, each place once. `variables` are those of the environment that hold a value of the pod, with what each is
    called. Containers that say the same are read once."""
    return _pod_reads(_program_texts(container, volumes, find), tuple(variables.items()))


def words_and_texts(container: Json, volumes: Sequence[Json], find: FindObject) -> Sequence[tuple[str, SourceRange]]:
    """All that stands in words, hooks, probes and mounted files, each once, whatever reads it; of a text within another one only
    that one."""
    return _words_and_texts(_program_texts(container, volumes, find))


def python_texts(container: Json, volumes: Sequence[Json], find: FindObject) -> Sequence[Text]:
    """The texts, and the parts of shell texts, that are Python code."""
    return _python_texts(_program_texts(container, volumes, find))


def _program_texts(container: Json, volumes: Sequence[Json], find: FindObject) -> bytes:
    """What the container says of its programs, with the ConfigMaps and Secrets that it takes texts from."""
    files = mounted_files(container, volumes, find)
    fields = {field: container[field] for field in _READ if field in container}
    titles = {*(file.source for file in files.values()), *(title for title, _ in _references(container))}
    found = {title: find(title) for title in sorted(titles)}
    objects = {title: {field: one.get(field) for field in TEXT_FIELDS} for title, one in found.items() if one}
    return msgspec.json.encode((fields, volumes if files else (), objects))


@lru_cache(maxsize=1024)
def _pod_reads(program_texts: bytes, variables: tuple[tuple[str, str], ...]) -> tuple[PodRead, ...]:
    container, volumes, objects = msgspec.json.decode(program_texts)
    found: dict[tuple[str, Path, int], PodRead] = {}
    for one in _all(container, volumes, objects.get, dict(variables)):
        key = one.spot.file, one.spot.path, one.spot.start
        if key not in found or (one.read.decides and not found[key].read.decides):
            found[key] = one
    return tuple(found.values())


@lru_cache(maxsize=1024)
def _words_and_texts(program_texts: bytes) -> tuple[tuple[str, SourceRange], ...]:
    container, volumes, objects = msgspec.json.decode(program_texts)
    found: dict[tuple[str, Path, int], tuple[str, SourceRange]] = {}
    for _, text, spot, _ in _texts(container, volumes, objects.get):
        found.setdefault((spot.file, spot.path, spot.start if spot.is_decoded else -1), (text, spot))
    for _, words in _commands(container):
        for path, word in words:
            found.setdefault(("", path, -1), (word, SourceRange(path, 0, len(word), is_item=True)))
    for place, file in mounted_files(container, volumes, objects.get).items():
        if _is_of_another_language(PurePosixPath(place), file.text):
            found.setdefault((file.spot.file, file.spot.path, -1), (file.text, file.spot))
    return tuple(found.values())


@lru_cache(maxsize=1024)
def _python_texts(program_texts: bytes) -> tuple[Text, ...]:
    container, volumes, objects = msgspec.json.decode(program_texts)
    found: dict[tuple[str, Path, int], Text] = {}
    for text in _texts(container, volumes, objects.get):
        codes = shell_code(text.text) if text.language == "shell" else [(text.text, 0)]
        for code, start in codes:
            spot = text.spot._replace(start=text.spot.offset(start), is_item=False)
            found.setdefault((spot.file, spot.path, spot.start), Text("python", code, spot))
    for _, words in _commands(container):
        for number in code_words([word for _, word in words]):
            path, code = words[number]
            found.setdefault(("", path, 0), Text("python", code, SourceRange(path, 0, len(code), is_item=True)))
    return tuple(found.values())


def _texts(container: Json, volumes: Sequence[Json], find: FindObject) -> Iterator[Text]:
    """The programs that could be read: of its words, hooks and probes, files that it mounts without starting them, and what any
    of these holds in base64."""
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
    yield from _encoded(container, volumes, find)


def _encoded(container: Json, volumes: Sequence[Json], find: FindObject) -> Iterator[Text]:
    """Programs that are written in base64, where something in the container decodes it."""
    said = [(word, SourceRange(path, 0, len(word), is_item=True)) for _, words in _commands(container) for path, word in words]
    said += [(file.text, file.spot) for file in mounted_files(container, volumes, find).values()]
    if not any(decodes(text) for text, _ in said):
        return
    for text, spot in (*said, *_values(container, find)):
        for program, start in decoded(text):
            place = spot._replace(start=spot.start + start, is_item=False, is_decoded=True)
            yield Text("python" if is_python_code(program) else "shell", program, place)


def _all(container: Json, volumes: Sequence[Json], find: FindObject, variables: Mapping[str, str]) -> Iterator[PodRead]:
    read_as_text: set[Path] = set()
    known: set[tuple[str, Path]] = set()
    for language, text, spot, is_whole in _texts(container, volumes, find):
        if not is_whole:
            yield _at(Read(UNREAD, 0, decides=False), text, spot)
        if not spot.is_decoded:
            read_as_text.add(spot.path)
            known.add((spot.file, spot.path))
        if language == "shell":
            found = shell_reads.reads(text, _known_to(container, text, variables))
        else:
            found = python_reads.reads(text, variables, shell_reads.reads)
        yield from (_at(read, text, spot) for read in found)
    for _, words in _commands(container):
        yield from (one for one in _of_words(words, variables) if one.spot.path not in read_as_text)
    for text, spot in _values(container, find):
        yield from (_at(read, text, spot) for read in mentions(text, variables) if "$" in text or "(" in text)
    for number, mount in enumerate(container.get("volumeMounts") or ()):
        expression = str(mount.get("subPathExpr") or "")
        spot = SourceRange(("volumeMounts", number, "subPathExpr"), 0, len(expression), is_item=True)
        for match in _REFERENCE.finditer(expression):
            if match[1] in variables:
                yield _at(Read(variables[match[1]], match.start(), decides=False), expression, spot)
    for place, file in mounted_files(container, volumes, find).items():
        if (file.spot.file, file.spot.path) not in known:
            path = PurePosixPath(place)
            search = insertions if path.suffix in _DATA and path.name.lower() not in _RUN_BY_NAME else mentions
            named = {**variables, "hostname": HOST_NAME} if path.suffix == ".fish" else variables
            yield from (_at(read, file.text, file.spot) for read in search(file.text, named))


def _is_of_another_language(place: PurePosixPath, text: str) -> bool:
    """Whether a mounted file is a program that no reader here understands: rules search it for words."""
    return place.suffix.lower() in _PROGRAMS or place.name.lower() in _RUN_BY_NAME or text.startswith("#!")


def _known_to(container: Json, text: str, variables: Mapping[str, str]) -> Mapping[str, str]:
    """The variables, and the one in which zsh and tcsh have the host name, where one of them reads the text."""
    given = {variable.get("name") for variable in container.get("env") or ()}
    first = (
        text.partition("\n")[0]
        if text.startswith("#!")
        else " ".join((container.get("command") or container.get("args") or ())[:1])
    )
    return {**variables, "HOST": HOST_NAME} if _SETS_HOST.search(first) and "HOST" not in given else variables


def _values(container: Json, find: FindObject) -> Iterator[tuple[str, SourceRange]]:
    """Values of variables, which may be programs that a shell runs."""
    for number, variable in enumerate(container.get("env") or ()):
        if isinstance(text := variable.get("value"), str):
            yield text, SourceRange(("env", number, "value"), 0, len(text), is_item=True)
    for title, key in _references(container):
        texts: dict[str, str] = (find(title) or {}).get("data") or {}
        for name, text in texts.items():
            if key in (None, name):
                yield text, SourceRange(("data", name), 0, len(text), file=title)


def _references(container: Json) -> Iterator[tuple[str, str | None]]:
    """The objects that variables come from: the title, and the key, None for all of them."""
    for variable in container.get("env") or ():
        for kind, field in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
            if reference := (variable.get("valueFrom") or {}).get(field):
                yield f"{kind} {reference.get('name')}", str(reference.get("key"))
    for source in container.get("envFrom") or ():
        for kind, field in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
            if reference := source.get(field):
                yield f"{kind} {reference.get('name')}", None


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
    code = {*code_words([word for _, word in words])}
    runs_text = bool(words) and program_name(words[0][1]) in RUNNERS - PYTHONS
    for number, (path, text) in enumerate(words):
        found: Iterable[Read] = ()
        if number in code:
            found = python_reads.reads(text, variables, shell_reads.reads)
        elif number and (runs_text or (" " in text and _ASKS.search(text))):
            # A text that another program is given may be one for a shell: `su user -c TEXT`.
            found = mentions(_REFERENCE.sub(lambda match: " " * len(match[0]), text), variables)
        yield from (_at(read, text, SourceRange(path, 0, len(text), is_item=True)) for read in found)
    before = ""
    for path, word in words:
        option = word.partition("=")[0] if word.startswith("-") else before
        named = [
            Read(variables[match[1]], match.start(), is_rank(option))
            for match in _REFERENCE.finditer(word)
            if match[1] in variables
        ]
        named += [Read(HOST_NAME, word.find(name), decides=False) for name in OF_HOST_NAME if name in word]
        if len(words) == 1 and program_name(word) == "hostname":
            named.append(Read(HOST_NAME, 0, decides=False))
        yield from (_at(read, word, SourceRange(path, 0, len(word), is_item=True)) for read in named)
        before = word if word.startswith("-") else ""


def _at(read: Read, text: str, spot: SourceRange) -> PodRead:
    where = spot._replace(start=spot.offset(read.start), is_item=False)
    return PodRead(read, where, text, read.start)


def _language(place: str, file: File) -> Literal["shell", "python"] | None:
    suffix, first = PurePosixPath(place).suffix, file.text.partition("\n")[0]
    if suffix == ".py" or (first.startswith("#!") and "python" in first):
        return "python"
    if suffix in {".sh", ".bash", ".ksh", ".zsh"} or is_shell_script(file.text):
        return "shell"
    return None
