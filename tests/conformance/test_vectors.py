"""The recorded answers are still what a real API server gives."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from control_plane import ControlPlane
from vectors import record
from vectors.answers import read
from vectors.case import case_files, load
from vectors.differences import differences
from vectors.hooks import serving
from vectors.play import Server, play

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(900)]


TRIES = 4
"""Caches of the server may lag behind, the more so on a busy machine."""


@pytest.mark.parametrize("controllers", [False, True], ids=["API server alone", "with its controllers"])
def test_recorded_answers_are_given_again(controllers: bool, tmp_path: Path) -> None:
    files = [file for file in case_files() if load(file).controllers is controllers]
    parts = record.CONTROLLED if controllers else record.QUIET
    with ControlPlane(tmp_path, parts=parts, plain_pods=True) as plane:
        changed = asyncio.run(_changed(plane.kubeconfig, files))
    assert not changed, "\n".join(changed[:20])


async def _changed(kubeconfig: Path, files: list[str]) -> list[str]:
    """What differs from the recorded answers each time it is asked."""
    changed: list[str] = []
    async with (
        record.session(kubeconfig) as client,
        record.session(kubeconfig, certificate=False) as stranger,
        serving() as hooks,
    ):
        server = Server(client, hooks, stranger, caches=record.CACHES)
        for file in files:
            for _ in range(TRIES):
                given = await play(server, load(file))
                found = [f"{file}/{one}" for one in differences(read(file), given)]
                if not found:
                    break
            changed += found
    return changed
