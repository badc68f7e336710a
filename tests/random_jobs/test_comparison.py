"""What counts as a difference between ours and upstream's."""

from __future__ import annotations

from player.case import Case, Step
from player.shape import Json
from random_jobs.comparison import different_step

CASE = Case("c", "", (Step("apply", [], {}), Step("wait", 1, {})))


def seen(phase: str, *messages: str) -> list[Json]:
    events = [{"object": "Job/j", "reason": "Told", "message": message} for message in messages]
    return [{"new": {"Job/j": {"phase": phase}}}, {"events": events}]


def test_equal_records_do_not_differ() -> None:
    assert different_step(CASE, seen("a"), seen("a"), seen("a")) is None


def test_the_first_step_that_differs_is_found() -> None:
    found = different_step(CASE, seen("a", "x"), seen("a", "x"), seen("b", "y"))
    assert found is not None
    assert (found.number, [(one.at, one.wanted, one.got) for one in found.differences]) == (0, [(".new.Job/j.phase", "a", "b")])
    assert str(found) == "c, step 0 (apply [])\n    .new.Job/j.phase: wanted a got b"


def test_what_upstream_does_by_chance_is_no_difference_and_nothing_after_it() -> None:
    assert different_step(CASE, seen("a", "x"), seen("b", "x"), seen("c", "y")) is None


def test_beside_what_is_chance_other_places_still_count() -> None:
    first: list[Json] = [{"a": 1, "b": 1}, {}]
    again: list[Json] = [{"a": 2, "b": 1}, {}]
    found = different_step(CASE, first, again, [{"a": 3, "b": 2}, {}])
    assert found is not None
    assert [one.at for one in found.differences] == [".b"]


def test_warnings_do_not_count() -> None:
    answered: Json = {"answers": [{"code": 201}]}
    warned: Json = {"answers": [{"code": 201, "warnings": ["x"]}]}
    assert different_step(CASE, [answered, {}], [answered, {}], [warned, {}]) is None


def test_an_event_that_only_one_sends_is_named_and_one_that_upstream_sends_by_chance_is_none() -> None:
    found = different_step(CASE, seen("a", "x", "chance"), seen("a", "x"), seen("a", "y"))
    assert found is not None
    assert [(one.at, one.wanted, one.got) for one in found.differences] == [
        (".events.Job/j Told: x", "sent", None),
        (".events.Job/j Told: y", None, "sent"),
    ]
