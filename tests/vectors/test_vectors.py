"""Every answer equals the one that a real Kubernetes 1.36 gave to the same request, unless differences.yaml says why not."""

from __future__ import annotations

import pytest

from vectors.answers import answered_cases, read
from vectors.case import case_files, load
from vectors.conftest import Played
from vectors.differences import deliberate, differences

CASES = [pytest.param(file, name, id=f"{file}: {name}") for file in case_files() for name in answered_cases(file)]


@pytest.mark.parametrize(("file", "name"), CASES)
def test_answers_equal_those_of_a_real_server(file: str, name: str, played: Played) -> None:
    case = f"{file}/{name}"
    found = list(differences(read(file)[name], played(file)[name]))
    unlisted = [one for one in found if not any(listed.covers(case, one.path) for listed in deliberate())]
    assert not unlisted, "\n" + "\n".join(str(one) for one in unlisted[:12])
    for listed in deliberate():
        if case in listed.cases:
            assert any(listed.covers(case, one.path) for one in found), f"no longer different: {listed.why}"


@pytest.mark.parametrize("file", case_files())
def test_every_recorded_case_is_still_asked(file: str) -> None:
    assert list(read(file)) == [case.name for case in load(file).cases]
