"""What this project's own test run does: repeats are counted, unit tests are held to their rule, and what tests have in common is
made once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from by_module import scope_of, turn

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[1]
CONFTEST = """
import brief_reports, first_cases, unit_tests, unpassed

def pytest_addoption(parser):
    unpassed.add_option(parser)
    first_cases.add_option(parser)

def pytest_configure(config):
    for name in ("unit", "integration", "slow", "e2e", "conformance"):
        config.addinivalue_line("markers", name)
    unpassed.register(config)
    unit_tests.register(config)
    first_cases.register(config)
    brief_reports.register(config)
"""
FLAKY = """
import pathlib, pytest

@pytest.mark.parametrize("name", {names})
def test_flaky(name):
    first = pathlib.Path(name)
    if not first.exists():
        first.touch()
        raise AssertionError("the first time")

def test_steady():
    pass
"""
UNIT = """
import pathlib, pytest, socket, subprocess

def test_starts_a_process():
    subprocess.run(["true"])

def test_hides_that_it_starts_one():
    try:
        subprocess.run(["true"])
    except AssertionError:
        pass

def test_connects():
    socket.socket().connect(("127.0.0.1", 9))

def test_is_pure():
    left, right = socket.socketpair()
    left.close(), right.close()

@pytest.mark.integration
def test_may_start_one():
    subprocess.run(["true"], check=True)
"""

CASES = """
import pytest

@pytest.mark.parametrize("number", [pytest.param(1, marks=pytest.mark.slow), 2, 3])
def test_numbers(number):
    pass

def test_steady():
    pass
"""

OUTCOMES = """
import time, pytest

@pytest.fixture
def slow():
    time.sleep(0.02)

@pytest.fixture
def broken():
    raise ValueError("before")

@pytest.fixture
def breaking():
    yield
    raise ValueError("after")

@pytest.fixture
def telling():
    yield
    print("told at the end")

def test_passes(slow):
    pass

def test_fails(telling):
    raise AssertionError("in it")

def test_cannot_begin(broken):
    pass

def test_cannot_end(breaking):
    pass

def test_fails_and_cannot_end(breaking):
    raise AssertionError("in it")

@pytest.mark.skip(reason="not now")
def test_is_skipped():
    pass

@pytest.mark.xfail(strict=True, reason="not yet")
def test_fails_as_expected():
    raise AssertionError("in it")
"""

DIES = """
import os, pytest

@pytest.fixture
def dying():
    yield
    os._exit(3)

def test_it(dying):
    raise AssertionError("THE REAL CAUSE")
"""

WARNS = """
import warnings

def test_warns():
    warnings.warn("old", DeprecationWarning)
"""


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-rA", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def counted(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts/repeated_tests.py")]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("flaky", "code"), [(0, 0), (3, 0), (4, 1)])
def test_tests_that_passed_only_on_a_repeat_are_counted_and_four_fail(tmp_path: Path, flaky: int, code: int) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(FLAKY.format(names=[f"n{number}" for number in range(flaky)]))
    assert run(tmp_path).returncode == int(flaky > 0)
    assert counted(tmp_path).returncode == 0, "nothing was repeated yet"
    assert run(tmp_path, "--unpassed").returncode == 0
    answer = counted(tmp_path)
    assert (answer.returncode, answer.stdout.count("test_flaky")) == (code, flaky)
    assert "test_steady" not in answer.stdout


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_repeat_imports_only_modules_with_tests_that_have_not_passed(tmp_path: Path, workers: str) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(FLAKY.format(names=["n"]))
    (tmp_path / "test_other.py").write_text("print('imported')\n\ndef test_other():\n    pass\n")
    assert "test_other" in run(tmp_path, "-n", workers).stdout
    again = run(tmp_path, "--unpassed", "-s")
    assert (again.returncode, "imported" in again.stdout, "test_flaky" in again.stdout) == (0, False, True)
    assert run(tmp_path, "--unpassed").returncode == 0, "nothing is left"


def test_a_repeat_of_a_run_that_was_killed_takes_all(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text("def test_steady():\n    pass\n")
    run(tmp_path)
    (tmp_path / "test_dies.py").write_text("import os\nos._exit(9)\n")
    assert run(tmp_path).returncode == 9
    (tmp_path / "test_dies.py").unlink()
    assert "test_steady" in run(tmp_path, "--unpassed").stdout


def test_unit_test_that_starts_a_process_or_connects_fails_even_if_it_hides_it(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(UNIT)
    answer = run(tmp_path, "-m", "unit")
    failed = {line.split("::")[1].split()[0] for line in answer.stdout.splitlines() if line.startswith("FAILED")}
    assert failed == {"test_starts_a_process", "test_hides_that_it_starts_one", "test_connects"}, answer.stdout
    assert "mark it, or its module by `pytestmark`, with pytest.mark.integration" in answer.stdout
    chosen = run(tmp_path, "-m", "unit", "--collect-only").stdout
    assert "test_is_pure" in chosen
    assert "test_may_start_one" not in chosen


def test_first_cases_are_those_of_the_tests_that_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(CASES)
    answer = run(tmp_path, "-m", "unit", "--first-cases")
    passed = [line.split("::")[1] for line in answer.stdout.splitlines() if line.startswith("PASSED")]
    assert passed == ["test_numbers[2]", "test_steady"]


@pytest.mark.timeout(300)
def test_workers_report_all_but_that_nothing_happened_before_and_after_a_test(tmp_path: Path) -> None:
    def said(*options: str) -> list[str]:
        answer = run(tmp_path, "--durations", "0", "--durations-min", "0.02", *options).stdout
        lines = [re.sub(r"^[\d.]+s (?=setup )", "", line) for line in answer.splitlines()]
        return sorted(
            line for line in lines if line.startswith(("PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "E  ", "setup", "told"))
        )

    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(OUTCOMES)
    by_worker = said("-n", "1")
    assert "test_passes" not in run(tmp_path, "--unpassed", "--collect-only").stdout
    assert said() == by_worker
    assert [line.split()[0] for line in by_worker if "test_it.py" in line] == [
        "ERROR", "ERROR", "ERROR", "FAILED", "FAILED", "PASSED", "PASSED", "SKIPPED", "XFAIL", "setup",
    ]  # fmt: skip
    assert "told at the end" in by_worker


def test_what_failed_is_reported_although_its_worker_dies_in_the_tear_down(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(DIES)
    answer = run(tmp_path, "-n", "1", "--max-worker-restart", "0").stdout
    assert "THE REAL CAUSE" in answer
    assert "crashed" in answer


def test_a_warning_fails_a_test(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(WARNS)
    answer = run(tmp_path, "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "test_it.py")
    assert "FAILED test_it.py::test_warns - DeprecationWarning: old" in answer.stdout, answer.stdout


def test_unit_tests_are_none_of_the_folders_that_need_a_cluster() -> None:
    folders = [f"tests/{folder}" for folder in ("e2e", "recipes", "faults", "conformance", "fuzz", "vectors")]
    answer = run(ROOT, "-m", "unit", "--collect-only", "--import-mode=importlib", *folders)
    assert answer.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, answer.stdout[-2000:]


@pytest.mark.parametrize(
    ("test", "scope"),
    [
        ("tests/e2e/test_job_life.py::test_a_life_in_which[a]", "tests/e2e/test_job_life.py"),
        ("tests/e2e/test_recordings.py::test_cluster_does_what_was_recorded[v1/a]", "tests/e2e/test_recordings.py"),
        ("tests/test_release.py::test_release_says_what_to_push", "tests/test_release.py"),
        ("tests/page/browser/test_job.py::test_a", "page/browser"),
        ("tests/sizing/test_shapes.py::test_counts_are_those_of_transformers[a]", "sizing/transformers"),
        ("tests/recipes/test_frameworks.py::test_a[finetune]", "tests/recipes/test_frameworks.py::finetune"),
        ("tests/recipes/test_frameworks.py::test_a[finetune-after two steps]", "tests/recipes/test_frameworks.py::finetune"),
        ("tests/vectors/test_vectors.py::test_a[lists: by label]", "tests/vectors/test_vectors.py::lists"),
        ("tests/e2e/test_doctor.py::test_a[b]", "tests/e2e/test_doctor.py::test_a[b]"),
    ],
)
def test_tests_with_something_in_common_run_in_one_process_and_others_where_there_is_time(test: str, scope: str) -> None:
    assert scope_of(test, ROOT) == scope


def test_long_tests_are_spread_over_a_run_but_for_its_end() -> None:
    turns = [turn(f"tests/e2e/test_doctor.py::test_{number}") for number in range(1000)]
    assert max(turns) < 0.8
    assert all(sum(at <= found < at + 0.1 for found in turns) > 50 for at in (0.0, 0.4, 0.7))
    assert max(turn(f"tests/jobs/test_causes.py::test_{number}") for number in range(1000)) > 0.99
