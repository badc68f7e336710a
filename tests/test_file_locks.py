"""A file that a process has locked is held for all others, until it is closed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from shunter.file_locks import is_held, take


def test_a_file_is_held_from_when_it_was_taken_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with open(path, "ab") as holder, open(path, "rb") as looker:
        assert not is_held(looker)
        looker.close()
        assert take(holder)
        with open(path, "rb") as another:
            assert is_held(another)
    with open(path, "rb") as looker:
        assert not is_held(looker)


def test_two_who_look_at_the_same_time_do_not_take_each_other_for_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    with open(path, "rb") as one, open(path, "rb") as other:
        assert (is_held(one), is_held(other)) == (False, False)


def test_a_lock_is_not_taken_from_who_has_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with open(path, "ab") as holder, open(path, "ab") as late:
        assert take(holder)
        assert not take(late)


@pytest.mark.integration
def test_who_only_looks_does_not_keep_a_lock_from_being_taken(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    looker = open(path, "rb")  # noqa: SIM115 -- closed by the timer
    assert not is_held(looker)
    timer = threading.Timer(0.1, looker.close)
    timer.start()
    with open(path, "ab") as taker:
        assert take(taker)
    timer.join()
