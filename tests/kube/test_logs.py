"""Logs: one line per record, which a person and a program can read."""

import logging
import re
from collections.abc import Iterator

import pytest

from shunter.errors import InputError
from shunter.kube import logs
from shunter.kube.controllers.plan import Key


@pytest.fixture(autouse=True)
def root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_record_is_one_line_of_time_level_component_message_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("info")
    logging.getLogger("shunter.kube.controllers.manager").info(
        "created\npod", extra={"pod": Key("n", "a"), "why": "a b", "none": ""}
    )
    line = capsys.readouterr().err
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO    kube\.controllers\.manager "
        r"created\\npod pod=n/a why=\"a b\" none=\"\"\n",
        line,
    )


def test_records_below_the_level_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("WARNING")
    logging.getLogger("shunter").info("quiet")
    logging.getLogger("shunter").warning("loud")
    assert capsys.readouterr().err.count("\n") == 1


def test_a_traceback_follows_indented(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up()
    try:
        raise RuntimeError("boom")
    except RuntimeError:
        logging.getLogger("shunter").exception("failed")
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.endswith("failed")
    assert all(line.startswith("    ") for line in rest)
    assert "boom" in rest[-1]


def test_a_level_that_does_not_exist_is_the_users_mistake() -> None:
    with pytest.raises(InputError, match="'loud' is not a log level"):
        logs.set_up("loud")
