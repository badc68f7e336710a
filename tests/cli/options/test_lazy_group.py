"""The table of verbs: help and completion take it, and only the verb that is called is imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping

import pytest

from shunter.cli.main import Verbs
from shunter.cli.migrate import Verbs as MigrateVerbs
from shunter.cli.options.lazy_group import Entry

IMPORTED = """
import atexit, json, sys
def told():
    print(json.dumps(sorted(name for name in sys.modules if name.startswith("shunter."))), file=sys.stderr)
atexit.register(told)
sys.argv[0] = "shunter"
from shunter.cli.main import main
main()
"""
ALWAYS = [
    "shunter.api",
    "shunter.api.collector",
    "shunter.cli",
    "shunter.cli.main",
    "shunter.cli.options",
    "shunter.cli.options.command",
    "shunter.cli.options.lazy_group",
    "shunter.cli.options.run_command",
    "shunter.errors",
]
MIGRATE = ["shunter.cli.migrate", "shunter.cli.migrate.exit_codes"]


def asked(*words: str, **environment: str) -> tuple[str, str]:
    """What the command prints, and what it says on standard error; the last line of that names the modules."""
    command = [sys.executable, "-c", IMPORTED, *words]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


QUESTIONS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "help": (("--help",), {}),
    "no word": ((), {}),
    "the version": (("--version",), {}),
    "what a verb begins with": ((), {"_SHUNTER_COMPLETE": "complete_bash", "COMP_WORDS": "shunter\nun", "COMP_CWORD": "1"}),
}


@pytest.mark.integration
@pytest.mark.parametrize(("words", "environment"), QUESTIONS.values(), ids=QUESTIONS)
def test_what_is_about_no_verb_imports_none(words: tuple[str, ...], environment: dict[str, str]) -> None:
    _, errors = asked(*words, **environment)
    assert json.loads(errors.splitlines()[-1]) == ALWAYS


QUESTIONS_ABOUT_MIGRATE: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "help": (("migrate", "--help"), {}),
    "no word": (("migrate",), {}),
    "what a verb begins with": (
        (),
        {"_SHUNTER_COMPLETE": "complete_bash", "COMP_WORDS": "shunter\nmigrate\nco", "COMP_CWORD": "2"},
    ),
}


@pytest.mark.integration
@pytest.mark.parametrize(("words", "environment"), QUESTIONS_ABOUT_MIGRATE.values(), ids=QUESTIONS_ABOUT_MIGRATE)
def test_what_is_about_no_verb_of_migrate_imports_none(words: tuple[str, ...], environment: dict[str, str]) -> None:
    _, errors = asked(*words, **environment)
    assert json.loads(errors.splitlines()[-1]) == sorted([*ALWAYS, *MIGRATE])


@pytest.mark.integration
@pytest.mark.parametrize(("words", "table"), [((), Verbs.table), (("migrate",), MigrateVerbs.table)], ids=["shunter", "migrate"])
def test_help_lists_the_verbs_in_the_order_of_the_table(words: tuple[str, ...], table: Mapping[str, Entry]) -> None:
    printed, _ = asked(*words, "--help")
    listed = printed.partition("Commands:\n")[2].partition("\n\n")[0].split()
    assert listed == " ".join(f"{name} {entry.short_help}" for name, entry in table.items()).split()


@pytest.mark.integration
def test_verbs_are_completed_and_a_misspelt_one_is_suggested() -> None:
    printed, _ = asked(**QUESTIONS["what a verb begins with"][1])
    assert printed.split() == ["uninstall"]
    _, errors = asked("unistall")
    assert "error: shunter has no command unistall.\n       Did you mean uninstall or install?\n" in errors


@pytest.mark.parametrize(
    ("name", "entry"),
    [*Verbs.table.items(), *MigrateVerbs.table.items()],
    ids=[*Verbs.table, *(f"migrate {name}" for name in MigrateVerbs.table)],
)
def test_every_entry_is_a_command(name: str, entry: Entry) -> None:
    command = entry.load(name)
    assert (command.name, command.get_short_help_str(100)) == (name, entry.short_help)
