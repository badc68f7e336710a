"""The signatures that help and completion read are those of the commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cli.options.test_lazy_group import ALWAYS, MIGRATE, asked
from shunter.cli.main import Verbs
from shunter.cli.migrate import Verbs as MigrateVerbs
from shunter.cli.options import signatures
from shunter.cli.options.lazy_group import Entry

VERBS = {**Verbs.table, **{f"migrate {name}": entry for name, entry in MigrateVerbs.table.items()}}
DECLARED = {name: entry for name, entry in VERBS.items() if entry.has_signature}


def shown(command: Any) -> Iterator[object]:
    """What help prints of a command and of those below it, and how its parameters are read and completed."""
    context = command.make_context(command.name, [], resilient_parsing=True)
    yield command.get_help(context)
    for parameter in command.get_params(context):
        kind = parameter.type
        completes = parameter._custom_shell_complete is not None
        yield parameter.name, parameter.opts, parameter.secondary_opts, parameter.nargs, parameter.multiple, completes
        yield getattr(parameter, "is_flag", None), type(kind), getattr(kind, "choices", None), getattr(kind, "dir_okay", None)
    for name, below in getattr(command, "commands", {}).items():
        yield name
        yield from shown(below)


@pytest.mark.parametrize(("name", "entry"), DECLARED.items(), ids=DECLARED)
def test_a_signature_has_the_help_and_the_parameters_of_its_command(name: str, entry: Entry) -> None:
    word = name.split()[-1]
    assert list(shown(entry.declared(word))) == list(shown(entry.load(word)))


def test_every_signature_belongs_to_a_verb() -> None:
    assert set(json.loads(signatures.FILE.read_bytes())) == {entry.key for entry in DECLARED.values()}
    assert set(VERBS) - set(DECLARED) == {"kubectl", "migrate"}


def completing(words: str) -> dict[str, str]:
    """The environment in which bash asks for the last of the words."""
    typed = words.split(" ")
    return {"_SHUNTER_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(typed), "COMP_CWORD": str(len(typed) - 1)}


SIGNATURES = "shunter.cli.options.signatures"
OFFERED = {
    "shunter run --no-": (["--no-code"], []),
    "shunter run -o j": (["json"], []),
    "shunter jobs --watch --sta": (["--state"], []),
    "shunter migrate convert --in-": (["--in-place"], MIGRATE),
    "shunter ui se": (["serve"], []),
    "shunter images add --pi": (["--pip"], []),
}


@pytest.mark.integration
@pytest.mark.parametrize(("words", "expected"), OFFERED.items(), ids=OFFERED)
def test_options_and_values_are_completed_without_what_the_verb_uses(words: str, expected: tuple[list[str], list[str]]) -> None:
    offers, imported = expected
    printed, errors = asked(**completing(words))
    assert sorted(printed.split()) == sorted(offers)
    modules = set(json.loads(errors.splitlines()[-1]))
    assert modules - {"shunter.cli.options.completion"} == {*ALWAYS, SIGNATURES, *imported}


@pytest.mark.integration
@pytest.mark.parametrize(
    "words", [("run", "--help"), ("migrate", "convert", "-h"), ("images", "add", "--help"), ("jobs", "--help")]
)
def test_help_of_a_verb_imports_nothing_that_the_verb_uses(words: tuple[str, ...]) -> None:
    printed, errors = asked(*words)
    assert printed.strip().startswith(f"Usage: shunter {' '.join(words[:-1])} ")
    imported = {*ALWAYS, SIGNATURES, *(MIGRATE if words[0] == "migrate" else ())}
    assert set(json.loads(errors.splitlines()[-1])) - {"shunter.cli.options.completion"} == imported


@pytest.mark.integration
def test_help_as_the_value_of_an_option_is_refused_and_a_program_gets_its_own() -> None:
    _, errors = asked("jobs", "--namespace", "--help")
    assert "--help" in errors
    _, errors = asked("run", "missing.py", "--", "--help")
    assert "missing.py" in errors
    _, errors = asked("run", "train.py", "--lr", "3", "--help")
    assert "shunter run train.py -- --lr" in errors
