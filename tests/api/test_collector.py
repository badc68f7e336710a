"""When Python looks for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from shunter.api.collector import paused


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    """On again, and able to find the garbage of later tests."""
    yield
    gc.enable()
    gc.unfreeze()


def test_nothing_is_collected_while_it_is_paused_and_what_was_made_then_never() -> None:
    with paused():
        assert not gc.isenabled()
        made: list[object] = [[]]
        before = gc.get_freeze_count()
    assert gc.isenabled()
    assert gc.get_freeze_count() > before
    assert not any(one is made for one in gc.get_objects())


def test_it_goes_on_after_an_error() -> None:
    with pytest.raises(ImportError), paused():
        raise ImportError
    assert gc.isenabled()


def test_one_that_is_off_stays_off() -> None:
    gc.disable()
    with paused():
        pass
    assert not gc.isenabled()
