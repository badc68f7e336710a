"""The verbs as a user meets them, where there is nobody to ask: what they say, what they leave alone, and their exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

import forked_command
from faults.operators import Operator
from faults.planes import Plane
from migrate.moving.moves import Moves
from shunter.api.resources import TRAIN_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.migrate.moving.annotations import COMPARED, SOURCE, mark
from shunter.migrate.moving.runs.trial_labels import TRIAL

pytestmark = pytest.mark.integration

FREEZE = ("--freeze", "none")
UID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


@pytest.fixture
def migrate(plane: Plane) -> Migrate:
    return Migrate(plane)


class Migrate:
    def __init__(self, plane: Plane) -> None:
        self._environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "NO_COLOR": "1", "COLUMNS": "300"}

    def at_terminal(self, *arguments: str, answer: str) -> str:
        """What a command prints to somebody who sits there and answers."""
        command = [sys.executable, "-m", "shunter.cli.main", "migrate", *arguments]
        ours, theirs = os.openpty()
        os.write(ours, f"{answer}\n".encode())
        done = subprocess.run(
            command, env=self._environment, stdin=theirs, capture_output=True, text=True, timeout=60, check=True
        )
        os.close(theirs)
        os.close(ours)
        return done.stdout

    def __call__(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = forked_command.shunter("migrate", *arguments, environment=self._environment, stdin="", timeout=60)
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done


async def test_a_cluster_that_is_not_ready_exits_with_4(migrate: Migrate, moves: Moves) -> None:
    done = migrate("validate-readiness", "-n", moves.namespace, "--checks", "trainer_webhooks", "--json", code=4)
    found = json.loads(done.stdout)
    assert (found["verdict"], len(found["results"])) == ("BLOCKED", 1)
    table = migrate("assess", "-n", moves.namespace, code=4).stdout
    assert "a dry run of a TrainJob without a runtime is accepted: the webhooks are not called." in table
    assert "BLOCKED" in table
    migrate("assess", "-n", moves.namespace, "--checks", "kubernetes*")


async def test_nothing_is_written_without_a_yes(migrate: Migrate, moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    plan = str(moves.directory / "plan.yaml")
    told = migrate("plan", "-n", moves.namespace, *FREEZE, "--journal-namespace", moves.namespace, "-o", plan).stderr
    assert "1 create" in told
    assert f"would create TrainJob {moves.namespace}/bert" in migrate("apply", "--plan", plan, "--dry-run").stdout
    refused = migrate("apply", "--plan", plan, code=1)
    assert "nothing was changed: no terminal for the confirmation. " in f"{refused.stderr} ".replace("\n", " ")
    assert await moves.train_job("bert") == {}
    migrate("apply", "--plan", plan, "--yes")
    assert await moves.train_job("bert") != {}
    assert f"would delete TrainJob {moves.namespace}/bert" in migrate("rollback", "--plan", plan, "--dry-run").stdout
    migrate("rollback", "--plan", plan, code=1)
    assert await moves.train_job("bert") != {}
    migrate("rollback", "--plan", plan, "--yes")
    assert await moves.train_job("bert") == {}


@pytest.mark.parametrize("is_asked", [False, True], ids=["with-yes", "at-a-terminal"])
async def test_every_write_is_said_once_and_in_words(migrate: Migrate, moves: Moves, is_asked: bool) -> None:
    for name in ("first", "second"):
        await moves.submit(name, suspend=True)
        await moves.until_state(name, "Suspended")
    plan = str(moves.directory / "plan.yaml")
    migrate("plan", "-n", moves.namespace, *FREEZE, "--journal-namespace", moves.namespace, "-o", plan)
    done = migrate("apply", "--plan", plan, "--yes").stdout.splitlines()
    done += migrate("cleanup", "--plan", plan, "--i-know", "--yes").stdout.splitlines()
    made = [f"done create TrainJob {moves.namespace}/{name}" for name in ("first", "second")]
    gone = [f"done delete PyTorchJob {moves.namespace}/{name}" for name in ("first", "second")]
    assert {*made, *gone} <= {*done}, done
    if is_asked:
        back = migrate.at_terminal("rollback", "--plan", plan, answer="y").splitlines()
    else:
        back = migrate("rollback", "--plan", plan, "--yes").stdout.splitlines()
    titles = [line.partition(":")[0].removeprefix("would ") for line in back if line.strip()]
    assert sorted(titles) == sorted({*titles}), "what was shown is not shown again"
    assert len(titles) == 5, titles
    assert not [line for line in (*done, *back) if UID.search(line)]
    assert await moves.v1("first")
    assert await moves.train_job("first") == {}


async def test_live_migrate_plans_applies_and_can_be_taken_back(migrate: Migrate, moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    plan = str(moves.directory / "plan.yaml")
    migrate("live-migrate", "-n", moves.namespace, *FREEZE, "--journal-namespace", moves.namespace, "--plan", plan, "--yes")
    assert await moves.train_job("bert") != {}
    migrate("rollback", "--plan", plan, "--yes")
    assert await moves.train_job("bert") == {}


async def test_live_migrate_writes_no_plan_in_a_dry_run_or_without_a_yes(migrate: Migrate, moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    path = moves.directory / "plan.yaml"
    flags = ("-n", moves.namespace, *FREEZE, "--journal-namespace", moves.namespace, "--plan", str(path))
    assert f"the plan would be in {path} (not written in a dry run)" in migrate("live-migrate", *flags, "--dry-run").stderr
    migrate("live-migrate", *flags, code=1)
    assert list(moves.directory.iterdir()) == []


async def test_live_migrate_goes_on_with_the_plan_that_is_there(migrate: Migrate, moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    path = moves.directory / "plan.yaml"
    flags = ("-n", moves.namespace, *FREEZE, "--journal-namespace", moves.namespace, "--plan", str(path), "--yes")
    migrate("live-migrate", *flags)
    written = path.read_text()
    await moves.submit("new", suspend=True)
    again = migrate("live-migrate", *flags)
    assert path.read_text() == written
    assert f"{path} exists: continuing with its plan" in again.stderr
    assert f"PyTorchJob {moves.namespace}/new" in again.stderr
    assert await moves.train_job("new") == {}
    refused = migrate("live-migrate", "-n", "other", *flags[2:], code=1)
    assert f"with --namespace {moves.namespace} instead of other.\n       Name another file with --plan." in refused.stderr
    path.write_text("\n".join("cluster: other" if line.startswith("cluster: ") else line for line in written.splitlines()))
    assert "is of another cluster" in migrate("live-migrate", *flags, code=1).stderr


async def test_a_plan_of_another_cluster_is_refused(migrate: Migrate, moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    path = moves.directory / "plan.yaml"
    migrate("plan", "-n", moves.namespace, *FREEZE, "-o", str(path))
    lines = path.read_text().splitlines()
    path.write_text("\n".join("cluster: other" if line.startswith("cluster: ") else line for line in lines))
    assert "is of another cluster" in migrate("apply", "--plan", str(path), "--yes", code=1).stderr
    assert await moves.train_job("bert") == {}


async def test_what_is_not_all_done_exits_with_6_and_names_the_way_back(migrate: Migrate, moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    path = str(moves.directory / "plan.yaml")
    migrate("plan", "-n", moves.namespace, *FREEZE, "-o", path)
    await moves.client.patch(PYTORCH_JOBS, "bert", moves.namespace, {"metadata": {"labels": {"a": "b"}}})
    done = migrate("apply", "--plan", path, "--yes", code=6)
    assert "it was changed after the plan was created; plan again" in done.stderr
    assert f"shunter migrate rollback --plan {path}" in done.stderr


async def test_a_backup_is_restored_suspended_and_refuses_what_differs(migrate: Migrate, moves: Moves) -> None:
    await moves.submit("bert")
    await moves.submit("other", suspend=True)
    directory = str(moves.directory / "backup")
    assert "2 objects, each accepted by the server in a dry run" in migrate("backup", directory, "-n", moves.namespace).stderr
    await moves.client.delete(PYTORCH_JOBS, "bert", moves.namespace, propagation="Background")
    migrate("restore", directory, "--yes")
    assert (await moves.v1("bert"))["spec"]["runPolicy"]["suspend"] is True
    await moves.client.patch(PYTORCH_JOBS, "other", moves.namespace, {"metadata": {"labels": {"a": "b"}}})
    assert "refuse PyTorchJob" in migrate("restore", directory, "--yes", code=6).stdout
    elsewhere = migrate("restore", directory, "-n", "elsewhere", "--yes", code=1).stderr
    assert "holds no objects of namespace elsewhere" in elsewhere
    assert f"It has those of: {moves.namespace}." in elsewhere


async def test_a_job_whose_train_job_runs_is_restored_suspended_even_with_resume(migrate: Migrate, moves: Moves) -> None:
    for name in ("bert", "gpt"):
        await moves.submit(name)
    directory = str(moves.directory / "backup")
    migrate("backup", directory, "-n", moves.namespace)
    for name in ("bert", "gpt"):
        await moves.client.delete(PYTORCH_JOBS, name, moves.namespace, propagation="Background")
    annotations = {SOURCE: f"PyTorchJob {moves.namespace}/bert"}
    train_job = {"metadata": {"name": "bert-v2", "namespace": moves.namespace, "annotations": annotations}}
    spec = {"runtimeRef": {"name": "torch"}, "suspend": False}
    kind = {"apiVersion": TRAIN_JOBS.api_version, "kind": TRAIN_JOBS.kind}
    await moves.client.create(TRAIN_JOBS, {**kind, **train_job, "spec": spec})
    done = migrate("restore", directory, "--resume", "--yes")
    assert "its TrainJob bert-v2 runs, and both would train" in done.stdout
    suspended = {name: (await moves.v1(name))["spec"]["runPolicy"]["suspend"] for name in ("bert", "gpt")}
    assert suspended == {"bert": True, "gpt": False}

    both = str(moves.directory / "both")
    migrate("backup", both, "-n", moves.namespace)
    await moves.client.patch(PYTORCH_JOBS, "bert", moves.namespace, {"spec": {"runPolicy": {"suspend": False}}})
    await moves.client.delete(TRAIN_JOBS, "bert-v2", moves.namespace, propagation="Background")
    done = migrate("restore", both, "--resume", "--yes")
    assert f"its PyTorchJob {moves.namespace}/bert runs, and both would train" in done.stdout


async def test_cleanup_leaves_another_job_of_the_name_and_removes_old_trials_of_all_namespaces(
    migrate: Migrate, moves: Moves, operator: Operator
) -> None:
    await moves.submit("bert", suspend=True)
    path = moves.directory / "plan.yaml"
    migrate("plan", "-n", moves.namespace, *FREEZE, "--journal-namespace", moves.namespace, "-o", str(path))
    migrate("apply", "--plan", str(path), "--yes")
    await operator.stop()
    await moves.finish(TRAIN_JOBS, "bert", "Complete")
    assert await moves.note("equal", original="bert", train_job="bert") == ""
    await moves.client.delete(PYTORCH_JOBS, "bert", moves.namespace, propagation="Background")
    await moves.submit("bert", suspend=True)
    await moves.finish(PYTORCH_JOBS, "bert", "Succeeded")
    metadata = {"name": "bert-trial", "namespace": moves.namespace, "labels": {TRIAL: "true"}}
    trial = {"apiVersion": TRAIN_JOBS.api_version, "kind": TRAIN_JOBS.kind, "metadata": metadata}
    await moves.client.create(TRAIN_JOBS, {**trial, "spec": {"suspend": True, "runtimeRef": {"name": "other"}}})
    lines = path.read_text().splitlines()
    start = lines.index("namespaces:")
    path.write_text("\n".join([*lines[:start], "namespaces: []", *lines[start + 2 :]]))
    done = migrate("cleanup", "--plan", str(path), "--yes")
    assert f"PyTorchJob {moves.namespace}/bert: another job has taken that name since the plan was created" in done.stderr
    assert f"removed TrainJob {moves.namespace}/bert-trial, left over from a trial" in done.stderr
    assert await moves.v1("bert") != {}
    assert await moves.train_job("bert-trial") == {}


async def test_compare_notes_its_verdict_for_cleanup_only_on_the_train_job_of_the_original(
    migrate: Migrate, moves: Moves
) -> None:
    for name in ("bert", "other"):
        await moves.submit(name, suspend=True)
    path = moves.directory / "plan.yaml"
    migrate("plan", "-n", moves.namespace, *FREEZE, "--journal-namespace", moves.namespace, "-o", str(path))
    migrate("apply", "--plan", str(path), "--yes")
    told = migrate("compare", "PyTorchJob/other", "TrainJob/bert", "-n", moves.namespace, code=1).stderr
    assert f"the verdict is not recorded for cleanup: TrainJob {moves.namespace}/bert was converted from PyTorchJob" in told
    assert mark(await moves.train_job("bert"), COMPARED) == ""
    told = migrate("compare", "PyTorchJob/bert", "TrainJob/bert", "-n", moves.namespace, code=1).stderr
    assert "not recorded" not in told
    assert mark(await moves.train_job("bert"), COMPARED) == "not comparable"


async def test_compare_by_a_plan_says_what_it_leaves_out(migrate: Migrate, moves: Moves, operator: Operator) -> None:
    for name in ("bert", "gpt"):
        await moves.submit(name, suspend=True)
        await moves.until_state(name, "Suspended")
    path = str(moves.directory / "plan.yaml")
    migrate("plan", "-n", moves.namespace, *FREEZE, "--journal-namespace", moves.namespace, "-o", path)
    migrate("apply", "--plan", path, "--yes")
    await operator.stop()
    await moves.finish(TRAIN_JOBS, "bert", "Complete")
    done = migrate("compare", "--plan", path)
    assert f"PyTorchJob {moves.namespace}/gpt: TrainJob gpt is " in done.stderr
    assert "equal" in done.stdout
    assert mark(await moves.train_job("bert"), COMPARED) == "equal"
    assert "nothing to compare" in migrate("compare", "--plan", path).stderr
    assert "not seen: " in migrate("compare", "PyTorchJob/bert", "--plan", path).stderr
    assert "it has no job 'other'" in migrate("compare", "other", "--plan", path, code=1).stderr
    assert "--plan takes both runs of each job itself" in migrate("compare", "a", "b", "--plan", path, code=1).stderr


async def test_a_rollback_after_a_train_job_that_failed_says_what_is_left_to_do(
    migrate: Migrate, moves: Moves, operator: Operator
) -> None:
    await moves.submit("bert", suspend=True)
    await moves.until_state("bert", "Suspended")
    path = str(moves.directory / "plan.yaml")
    migrate("plan", "-n", moves.namespace, *FREEZE, "--journal-namespace", moves.namespace, "-o", path)
    migrate("apply", "--plan", path, "--yes")
    await operator.stop()
    await moves.finish(TRAIN_JOBS, "bert", "Failed")
    done = migrate("rollback", "--plan", path, "--yes", code=6)
    assert "it has finished (Failed) and is kept, with its result" in done.stdout
    assert "would train again: " not in done.stderr


async def test_cleanup_archives_what_it_deletes(migrate: Migrate, moves: Moves, operator: Operator) -> None:
    await moves.submit("bert", suspend=True)
    await operator.stop()
    await moves.finish(PYTORCH_JOBS, "bert", "Succeeded")
    path = str(moves.directory / "plan.yaml")
    migrate("plan", "-n", moves.namespace, *FREEZE, "--journal-namespace", moves.namespace, "-o", path)
    assert "nothing was changed" in migrate("cleanup", "--plan", path, "--dry-run").stderr
    assert await moves.v1("bert") != {}
    migrate("cleanup", "--plan", path, "--yes")
    assert await moves.v1("bert") == {}
    for _ in range(2):
        done = migrate("rollback", "--plan", path, "--yes")
        assert "it is in the archive of the cleanup" in done.stdout
        assert f"kept 1 finished job, which would train again if undone: PyTorchJob {moves.namespace}/bert" in done.stderr
    assert await moves.v1("bert") == {}
    migrate("restore", f"{path}.archive", "--finished", "--yes")
    assert (await moves.v1("bert"))["spec"]["runPolicy"]["suspend"] is True
