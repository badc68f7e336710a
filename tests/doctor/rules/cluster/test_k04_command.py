"""A command that is missing or cannot be executed, by what the runtime or the shell says."""

from __future__ import annotations

import pytest

from doctor.evidences import ended, failed, log, pod, seen
from job_evidence import NOW, waiting
from shunter.doctor.diagnosing import diagnose

RUNC = 'runc create failed: unable to start container process: exec: "trian": executable file not found in $PATH: unknown'


@pytest.mark.parametrize(
    ("code", "reason", "message", "said", "cause"),
    [
        pytest.param(128, "StartError", RUNC, "", f"rank 0: {RUNC}", id="the runtime does not find it"),
        pytest.param(255, "ContainerCannotRun", "exec: denied", "", "rank 0: exec: denied", id="another code of the runtime"),
        pytest.param(127, "Error", "", "", "rank 0: a command was not found (exit code 127)", id="a shell that says nothing"),
        pytest.param(
            127,
            "Error",
            "",
            "/bin/sh: 1: torchrum: not found",
            "rank 0: a command was not found (exit code 127): /bin/sh: 1: torchrum: not found",
            id="a shell that names it",
        ),
        pytest.param(
            126,
            "Error",
            "",
            "sh: 1: /app/run.sh: Permission denied",
            "rank 0: a command cannot be executed (exit code 126): sh: 1: /app/run.sh: Permission denied",
            id="a file without the right to execute it",
        ),
    ],
)
def test_the_command_is_named_where_something_names_it(code: int, reason: str, message: str, said: str, cause: str) -> None:
    logs = (log(0, said),) if said else ()
    (verdict,) = diagnose(failed(pod(0, **ended(code, reason=reason, message=message)), logs=logs), NOW).verdicts
    assert (verdict.id, verdict.cause) == ("K04", cause)


@pytest.mark.parametrize("code", [1, 2, 125, 129, 255])
def test_other_exit_codes_say_nothing_about_a_command(code: int) -> None:
    assert [one.id for one in diagnose(failed(pod(0, **ended(code))), NOW).verdicts] == ["T00"]


def test_a_container_that_waits_with_a_runtime_error_is_told() -> None:
    (verdict,) = diagnose(seen(pod(0, **waiting("RunContainerError", 'exec: "/x": no such file or directory'))), NOW).verdicts
    assert verdict.id == "K04"
    assert 'exec: "/x": no such file or directory' in verdict.cause
