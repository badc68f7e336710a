"""What a Python program imports from a room, which is loaded when it is asked for, is there."""

from __future__ import annotations

from importlib import import_module

import pytest

NAMES = [(room, name) for room in ("launch", "sizing") for name in import_module(f"shunter.{room}").__all__]


@pytest.mark.parametrize(("room", "name"), NAMES)
def test_every_public_name_of_a_room_is_found(room: str, name: str) -> None:
    assert getattr(import_module(f"shunter.{room}"), name).__name__ == name
