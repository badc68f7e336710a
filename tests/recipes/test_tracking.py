"""examples/recipes/tracking.py against a real MLflow server: one run a job, and a training that does not feel it."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import IO, Any

import pytest

from recipes.mlflow_server import Gate, Runs, mlflow_server
from recipes.ranks import REPOSITORY, Ranks, eventually, logged

RECIPE = REPOSITORY / "examples/recipes/tracking.py"
pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("mlflow")]  # one server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with mlflow_server(tmp_path_factory.mktemp("mlflow")) as port:
        yield port


@pytest.fixture
def gate(server: int) -> Iterator[Gate]:
    gate = Gate(server)
    gate.open()
    yield gate
    gate.close()


@pytest.fixture
def job(gate: Gate, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The environment of a job of `shunter run --mlflow`; its name, which is that of its experiment and its run as well."""
    name = str(abs(hash(request.node.name)))
    for variable in [variable for variable in os.environ if variable.startswith("MLFLOW_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{gate.port}")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", name)
    monkeypatch.setenv("MLFLOW_RUN_NAME", name)
    monkeypatch.setenv("SHUNTER_JOB", f"team/{name}")
    monkeypatch.setenv("SHUNTER_JOB_ID", "1")
    monkeypatch.setenv("RANK", "0")
    return name


class SenderThread:
    """In place of the process that talks to the server: an import of mlflow for each test would take minutes."""

    def __init__(self, recipe: ModuleType) -> None:
        ends = [os.pipe(), os.pipe()]
        lines, self.stdin = os.fdopen(ends[0][0], "rb"), os.fdopen(ends[0][1], "wb")
        self.stdout, ids = os.fdopen(ends[1][0], "rb"), os.fdopen(ends[1][1], "wb")
        self.sender = recipe.Sender(lines, ids)
        self._thread = threading.Thread(target=self._run, args=(ids,), daemon=True)
        self._thread.start()

    def _run(self, ids: IO[bytes]) -> None:
        with ids:
            self.sender.run()

    def wait(self, timeout: float) -> None:
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise subprocess.TimeoutExpired("sender", timeout)

    def kill(self) -> None:
        self.sender._is_late = True

    def end(self) -> None:
        """It reads the environment, which is another one after the test."""
        self.kill()
        with suppress(OSError, ValueError):
            self.stdin.close()
        self.wait(120)


@pytest.fixture
def recipe(job: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("tracking", RECIPE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    senders: list[SenderThread] = []

    def start_sender() -> SenderThread:
        senders.append(SenderThread(module))
        return senders[-1]

    # For good: its threads may outlive the test.
    vars(module).update({"PERIOD": 0.05, "LONGEST_PAUSE": 0.1, "leave": lambda code: None, "start_sender": start_sender})
    for name, value in module.DEFAULTS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    yield module
    for sender in senders:
        sender.end()


@pytest.fixture
def runs(server: int, job: str) -> Runs:
    return Runs(server, job)


def curve(*steps: int) -> list[tuple[int, float]]:
    return [(step, float(step)) for step in steps]


def train(tracking: Any, *steps: int) -> None:
    for step in steps:
        tracking.log(step, loss=step)


def test_a_training_is_one_run_with_its_parameters_and_curve(recipe: ModuleType, job: str, runs: Runs) -> None:
    notes: dict[str, str] = {}
    tracking = recipe.Tracking({"lr": 3e-4, "note": "x" * 7000}, progress=SimpleNamespace(note=notes.__setitem__))
    train(tracking, *range(1, 1201))
    tracking.close()
    assert runs.curve() == curve(*range(1, 1201))
    run = runs.one
    assert (run.info.run_name, run.info.status) == (job, "FINISHED")
    assert run.data.params == {"lr": "0.0003", "note": "x" * 6000}
    assert run.data.tags["shunter.dev/job"] == f"team/{job}"
    assert notes == {"mlflow.run": run.info.run_id, "mlflow.experiment": run.info.experiment_id}


def test_a_restarted_job_goes_on_with_its_run_and_repeats_no_step(
    recipe: ModuleType, runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    first = recipe.Tracking({"lr": 0.1})
    train(first, 1, 2, 3, 4, 5)
    first.close("KILLED")
    assert runs.one.info.status == "KILLED"
    second = recipe.Tracking({"lr": 0.2, "batch": 8})
    train(second, 4, 5, 6, 7)
    eventually(lambda: runs.one.info.status == "RUNNING")
    second.log(8, loss=8, accuracy=1)
    second.close()
    assert runs.curve() == curve(*range(1, 9)), "one point a step"
    assert runs.curve("accuracy") == [(8, 1.0)]
    assert runs.one.data.params == {"lr": "0.1", "batch": "8"}
    assert "parameter lr stays 0.1 in the run, although this start has 0.2" in capsys.readouterr().err
    assert runs.one.info.status == "FINISHED"


def test_a_job_of_the_same_name_made_anew_is_another_run(recipe: ModuleType, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in ("1", "2"):
        monkeypatch.setenv("SHUNTER_JOB_ID", number)
        tracking = recipe.Tracking()
        train(tracking, 1)
        tracking.close()
    assert sorted(run.data.tags["shunter.dev/job-id"] for run in runs.all) == ["1", "2"]


def test_without_a_job_every_start_is_a_run(recipe: ModuleType, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHUNTER_JOB")
    monkeypatch.delenv("SHUNTER_JOB_ID")
    for _ in range(2):
        tracking = recipe.Tracking({"lr": 1})
        train(tracking, 1)
        tracking.close()
    assert [run.data.metrics for run in runs.all] == [{"loss": 1.0}] * 2


@pytest.mark.parametrize("fault", ["close", "silent"])
def test_a_server_that_is_away_is_not_felt_and_gets_everything_when_it_is_back(
    recipe: ModuleType, gate: Gate, runs: Runs, fault: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    getattr(gate, fault)()
    tracking = recipe.Tracking({"lr": 1})
    train(tracking, *range(1, 101))  # ends, although no request of it can
    eventually(lambda: tracking._process.sender._failed > 2)
    gate.open()
    eventually(lambda: runs.all and runs.one.data.metrics)
    tracking.close()
    assert runs.curve() == curve(*range(1, 101))
    assert capsys.readouterr().err.count("training continues") == 1


def test_a_server_restarted_in_the_middle_loses_nothing(recipe: ModuleType, gate: Gate, runs: Runs) -> None:
    tracking = recipe.Tracking()
    train(tracking, *range(1, 51))
    eventually(lambda: runs.all and runs.one.data.metrics.get("loss") == 50)
    gate.close()
    train(tracking, *range(51, 101))
    eventually(lambda: tracking._process.sender._failed)
    gate.open()
    tracking.close()
    assert runs.curve() == curve(*range(1, 101))


@pytest.mark.parametrize("fault", ["close", "silent"])
def test_a_server_that_stays_away_does_not_hold_up_the_end(
    recipe: ModuleType, gate: Gate, job: str, fault: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recipe, "CLOSE", 1.0)
    getattr(gate, fault)()
    tracking = recipe.Tracking()
    train(tracking, *range(1, 101))
    tracking.close()
    tracking.close()
    said = capsys.readouterr().err
    assert said.count("100 metrics were not sent; ") == 1, said


def test_a_server_that_was_not_told_its_name_is_told_how(
    recipe: ModuleType, server: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """MLflow answers 403 to any name and any public address that is not among its --allowed-hosts."""
    gate = Gate(server, "127.0.0.2")
    gate.open()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://me:s3cret@127.0.0.2:{gate.port}")
    tracking = recipe.Tracking()
    train(tracking, 1)
    said = ""
    deadline = time.monotonic() + 60
    while "--allowed-hosts" not in said and time.monotonic() < deadline:
        said += capsys.readouterr().err
        time.sleep(0.05)
    gate.close()
    tracking.close()
    assert f"the server does not answer to this name; start it with: mlflow server --allowed-hosts 127.0.0.2:{gate.port}" in said
    assert "s3cret" not in said


def test_of_a_long_error_the_reason_is_kept_and_a_password_is_not(recipe: ModuleType) -> None:
    """requests puts the reason at the end, as `[Errno 111] Connection refused`."""
    address = f"http://me:{'s3cret' * 40}@10.0.0.1:5000"
    said = recipe._text(OSError(f"API request to {address}/api/2.0/{'x' * 200} failed (Caused by: Connection refused)"))
    assert said.startswith("OSError: API request to http://10.0.0.1:5000/api")
    assert said.endswith("failed (Caused by: Connection refused)")
    assert "s3cret" not in said
    assert len(said) < 270


def test_steps_wait_in_a_bounded_number_and_those_beyond_are_counted(recipe: ModuleType, gate: Gate, job: str) -> None:
    vars(recipe).update(WAITING_STEPS=60, CLOSE=1.0)
    gate.close()
    tracking = recipe.Tracking()
    train(tracking, *range(1, 101))
    eventually(lambda: not tracking._waiting)
    sender = tracking._process.sender
    eventually(lambda: tracking._dropped + sender._lost + len(sender._waiting) == 100)
    assert len(sender._waiting) <= 60
    tracking.close()


def test_what_cannot_be_logged_holds_up_nothing_else(recipe: ModuleType, runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    tracking = recipe.Tracking({"lr": 1, "bad*name": 2})
    train(tracking, 1)
    tracking.log(2, **{"bad*name": 1, "loss": 2})
    tracking.log(3, loss="high")
    tracking.log(4, loss=float("nan"))
    train(tracking, 5)
    tracking.close()
    assert [step for step, _ in runs.curve()] == [1, 2, 4, 5]
    assert runs.one.data.params == {"lr": "1"}
    said = capsys.readouterr().err
    assert "bad*name is not logged" in said
    assert "mlflow: loss is not a number" in said
    assert "mlflow: 1 metrics were not sent" in said
    assert "mlflow: 1 metrics could not be passed on" in said


def test_a_tensor_is_logged_as_it_was_when_it_was_logged(recipe: ModuleType, gate: Gate, runs: Runs) -> None:
    class Tensor(list[float]):
        def detach(self) -> Tensor:
            return self

        def clone(self) -> Tensor:
            return Tensor(self)

        def __float__(self) -> float:
            return self[0]

    gate.close()
    tracking, loss = recipe.Tracking(), Tensor([0.0])
    for step in (1, 2):
        loss[0] = float(step)
        tracking.log(step, loss=loss)
    loss[0] = 9.0
    gate.open()
    tracking.close()
    assert runs.curve() == curve(1, 2)


@pytest.mark.parametrize(
    ("name", "value"), [("RANK", "1"), ("MLFLOW_TRACKING_URI", None)], ids=["another rank", "no tracking server"]
)
def test_nothing_is_started(
    recipe: ModuleType, job: str, gate: Gate, name: str, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(name)
    if value is not None:
        monkeypatch.setenv(name, value)
    tracking = recipe.Tracking({"lr": 1})
    train(tracking, 1)
    tracking.close()
    assert not hasattr(tracking, "_process")
    assert (gate.accepted, len(tracking._waiting)) == (0, 0)


def test_system_metrics_are_logged_when_asked_for_and_go_on_after_a_restart(
    recipe: ModuleType, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "true")
    for _ in range(2):
        tracking = recipe.Tracking()
        train(tracking, 1)
        tracking.close()
    assert [step for step, _ in runs.curve("system/cpu_utilization_percentage")] == [0, 1]
    assert runs.curve() == curve(1)


ENDS: dict[str, tuple[BaseException | None, str]] = {
    "by itself": (None, "FINISHED"),
    "with an exception": (ZeroDivisionError(), "FAILED"),
    "told to stop": (SystemExit(143), "KILLED"),
    "with exit code 0": (SystemExit(0), "FINISHED"),
}


def ending(tracking: Any, error: BaseException | None) -> None:
    try:
        tracking.log(1, loss=1)
        if error is not None:
            raise error
    finally:
        tracking.close()


@pytest.mark.parametrize(("error", "status"), ENDS.values(), ids=ENDS)
def test_a_run_ends_as_its_program_did(recipe: ModuleType, runs: Runs, error: BaseException | None, status: str) -> None:
    with suppress(ZeroDivisionError, SystemExit):
        ending(recipe.Tracking(), error)
    assert (runs.one.info.status, runs.curve()) == (status, curve(1))


PROGRAM = """\
import os, sys
sys.path.insert(0, {directory!r})
from tracking import Tracking
class Run:
    def note(self, name, text):
        if name == "mlflow.run":
            print(text, flush=True)
tracking = Tracking(progress=Run())
tracking.log(1, loss=1)
{end}
"""


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("import atexit; atexit.register(tracking.close); input(); 1 / 0", "FAILED"),
        ("input(); os.kill(os.getpid(), 9)", "KILLED"),
    ],
    ids=["an exception", "kill -9"],
)
def test_a_run_whose_program_died_of(job: str, runs: Runs, end: str, status: str) -> None:
    script = PROGRAM.format(directory=str(RECIPE.parent), end=end)
    died = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert died.stdout is not None
    run = died.stdout.readline().strip()
    eventually(lambda: runs.curve() == curve(1))  # who is killed passes on no more
    died.communicate("\n")
    eventually(lambda: runs.one.info.status == status)
    assert (runs.one.info.run_id, runs.curve()) == (run, curve(1))


SENDERS_THAT_END = {
    "mlflow is not installed": (
        "raise ModuleNotFoundError(\"No module named 'mlflow'\")",
        "tracking._process.wait(60); tracking._passer.join(60); tracking.log(2, loss=2)",
        "mlflow: No module named 'mlflow', so nothing is logged: pip install mlflow-skinny\n",
    ),
    "it is killed": (
        "import time; time.sleep(60)",
        "tracking._process.kill(); tracking._passer.join(60); tracking.log(2, loss=2)",
        "mlflow: the process that sends metrics ended with -9, so nothing more is logged\n",
    ),
}


@pytest.mark.parametrize(("mlflow", "end", "said"), SENDERS_THAT_END.values(), ids=SENDERS_THAT_END)
def test_a_training_goes_on_without_the_process_that_sends(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlflow: str, end: str, said: str
) -> None:
    (tmp_path / "mlflow.py").write_text(mlflow)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    script = PROGRAM.format(directory=str(RECIPE.parent), end=f"{end}; tracking.close(); print('trained')")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "trained\n", said)


def test_the_language_model_is_one_run_through_a_stop_and_with_every_step(job: str, runs: Runs, tmp_path: Path) -> None:
    def has_more_than(points: int) -> bool:
        return bool(runs.all) and len(runs.curve()) > points

    names = [name for name in os.environ if name.startswith(("MLFLOW_", "SHUNTER_JOB"))]
    tracked = ({name: os.environ[name] for name in names},) * 2
    place = ("--checkpoint-dir", tmp_path / "checkpoints", "--save-every", 100_000)
    sizes = ("--sequence", 16, "--dim", 32, "--heads", 2, "--global-batch", 12)
    for _ in range(2):
        before = len(runs.curve()) if runs.all else 0
        ranks = Ranks(tmp_path, 2, *sizes, *place, "--steps", 100_000, environments=tracked)
        eventually(partial(has_more_than, before), seconds=120)  # rank 0 has imported mlflow
        assert ranks.processes[1].pid
        os.kill(ranks.processes[1].pid, signal.SIGTERM)
        assert ranks.exit_codes() == [143, 143], ranks.printed()
        assert runs.one.info.status == "KILLED"
        assert runs.curve() == sorted(logged(ranks.log).items())
    assert (runs.one.data.params["ranks"], runs.one.data.params["global_batch"]) == ("2", "12")
