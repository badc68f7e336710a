"""The recorded answers, answers/FILE.json: one line per answer, so that a change of one shows as one."""

from __future__ import annotations

import json
from functools import cache

import msgspec

from vectors.case import HERE, Json


def write(file: str, answers: dict[str, list[Json]]) -> None:
    cases = []
    for name, given in answers.items():
        lines = ",\n".join(json.dumps(answer, separators=(",", ":"), sort_keys=True, ensure_ascii=False) for answer in given)
        cases.append(f"{json.dumps(name, ensure_ascii=False)}:[\n{lines}]")
    (HERE / "answers" / f"{file}.json").write_text("{" + ",\n".join(cases) + "}\n")


def answered_cases(file: str) -> list[str]:
    """The names of the cases in answers/FILE.json, at a hundredth of what it takes to read the cases or all of the answers."""
    return list(msgspec.json.decode((HERE / "answers" / f"{file}.json").read_bytes(), type=dict[str, msgspec.Raw]))


@cache
def read(file: str) -> dict[str, list[Json]]:
    loaded: dict[str, list[Json]] = json.loads((HERE / "answers" / f"{file}.json").read_text())
    return loaded
