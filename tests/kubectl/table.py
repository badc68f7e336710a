"""The table of commands, commands.yaml, and the recorded answers of a real API server, answers/VERSION.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
COMMANDS = HERE / "commands.yaml"
ANSWERS = HERE / "answers"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Command:
    """What is typed after `kubectl`, and how its answer is compared; commands.yaml says what each field means."""

    run: str
    stdin: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    until: str = ""
    lines: int = 0
    sorted: bool = False
    differs: str = ""
    prepares: bool = False


@cache
def stories() -> dict[str, tuple[Command, ...]]:
    """The commands of each story, in order."""
    content = yaml.load(COMMANDS.read_text(), yaml.CSafeLoader)
    return {name: tuple(_command(entry, content["inputs"]) for entry in entries) for name, entries in content["stories"].items()}


def _command(entry: str | Json, inputs: Json) -> Command:
    if isinstance(entry, str):
        return Command(entry)
    fields = dict(entry)
    if "stdin" in fields:
        fields["stdin"] = json.dumps(inputs[fields["stdin"]])
    if "prepare" in fields:
        fields |= {"run": fields.pop("prepare"), "prepares": True}
    return Command(**fields)


def recorded_versions() -> list[str]:
    """The versions of kubectl that were asked, the oldest first."""
    return sorted((path.stem for path in ANSWERS.glob("*.json")), key=lambda version: [int(part) for part in version.split(".")])


def read_answers(version: str) -> dict[str, list[Json]]:
    """The answers to the commands of each story."""
    loaded: dict[str, list[Json]] = json.loads((ANSWERS / f"{version}.json").read_text())
    return loaded


def write_answers(version: str, answers: dict[str, list[Json]]) -> None:
    ANSWERS.mkdir(exist_ok=True)
    (ANSWERS / f"{version}.json").write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")
