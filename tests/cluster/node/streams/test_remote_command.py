"""The options, the last words and the terminal sizes of exec and attach."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.cluster.node.streams.remote_command import (
    SUCCESS,
    CommandOptions,
    Size,
    SizeReader,
    StreamRefusedError,
    command_options,
    exit_status,
)


@pytest.mark.parametrize(
    ("query", "options"),
    [
        pytest.param({"output": "1"}, CommandOptions(False, True, False, False), id="output only"),
        pytest.param(
            {"input": "1", "output": "1", "error": "1"}, CommandOptions(True, True, True, False), id="all three streams"
        ),
        pytest.param(
            {"input": "1", "output": "1", "error": "1", "tty": "1"},
            CommandOptions(True, True, False, True),
            id="a terminal has no error output of its own",
        ),
        pytest.param({"output": "1", "error": "true"}, CommandOptions(False, True, False, False), id="only 1 means yes"),
    ],
)
def test_options_are_read_as_kubelet_reads_them(query: dict[str, str], options: CommandOptions) -> None:
    assert command_options(query) == options


@pytest.mark.parametrize("query", [{}, {"tty": "1", "error": "1"}], ids=["nothing", "only what a terminal lacks"])
def test_a_request_for_no_stream_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(StreamRefusedError, match="at least 1 of stdin, stdout, stderr") as refused:
        command_options(query)
    assert refused.value.status == 400


def test_an_exit_code_is_told_as_clients_look_for_it() -> None:
    assert exit_status(["true"], 0) == SUCCESS
    status = exit_status(["sh", "-c", "exit 3"], 3)
    assert (status["status"], status["reason"]) == ("Failure", "NonZeroExitCode")
    assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]
    assert status["message"].endswith("error executing command [sh -c exit 3], exit code 3")


@given(st.lists(st.tuples(st.integers(0, 65535), st.integers(0, 65535)), max_size=6), st.data())
def test_sizes_are_read_wherever_they_are_cut(sizes: list[tuple[int, int]], data: st.DataObject) -> None:
    text = "\n".join(json.dumps({"Width": width, "Height": height}) for width, height in sizes).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    reader = SizeReader()
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert [size for piece in pieces for size in reader.feed(piece)] == [Size(*size) for size in sizes]


@pytest.mark.parametrize(
    "text",
    [b"]", b"resize me", b'{"Width": 1 oops' * 100, b'{"a": "' + b"x" * 5000, b"\xff\xfe", b"[" * 2000],
    ids=["bracket", "words", "broken object", "no end", "no text", "deep"],
)
def test_sizes_that_are_none_end_in_an_error_within_bounds(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        SizeReader().feed(text)


@pytest.mark.parametrize(
    "value",
    [7, {"Width": -1, "Height": 3}, {"Width": 70000, "Height": 3}, {"Width": "9", "Height": 3}, {"Width": True, "Height": 1}, {}],
)
def test_values_that_are_no_size_are_passed_over(value: object) -> None:
    assert SizeReader().feed(json.dumps(value).encode() + b' {"Width": 80, "Height": 24}') == [Size(80, 24)]
