"""What is told of saved checkpoints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from full_disk import mounted
from migrate.survey.scan.test_files import WITH_PERMISSIONS
from shunter.errors import InputError
from shunter.launch.checkpoints.saved import (
    SavedStep,
    StoredFile,
    examined_steps,
    make_directory,
    names_with_checkpoints,
    newest_complete,
    newest_damage,
    reader,
    saved_checkpoints,
    saved_files,
    saved_steps,
    steps_of,
    with_checkpoints,
    with_saved,
)
from shunter.launch.options import Checkpoints, LaunchOptions, Program
from shunter.operator.training_progress import Checkpoint, Progress

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def save(directory: Path, step: int, *, is_complete: bool = True) -> None:
    place = directory / f"step-{step}"
    place.mkdir(parents=True)
    for name, size in (("__0_0.distcp", 100), *((".metadata", 10),) * is_complete):
        (place / name).write_bytes(b"x" * size)
        os.utime(place / name, (NOON.timestamp(), NOON.timestamp()))


def test_the_newest_step_comes_first_and_says_whether_it_is_complete(tmp_path: Path) -> None:
    for step, is_complete in ((9, True), (100, True), (110, False)):
        save(tmp_path, step, is_complete=is_complete)
    (tmp_path / "step-100").rename(tmp_path / "checkpoint-100")  # as transformers calls it
    (tmp_path / "step-latest").mkdir()
    (tmp_path / "notes.txt").write_text("none")
    assert saved_steps(tmp_path) == [
        SavedStep(110, 100, NOON, is_complete=False, name="step-110"),
        SavedStep(100, 110, NOON, is_complete=True, name="checkpoint-100"),
        SavedStep(9, 110, NOON, is_complete=True, name="step-9"),
    ]


def test_a_step_of_which_nothing_is_written_yet_is_incomplete(tmp_path: Path) -> None:
    (tmp_path / "step-5").mkdir()
    (found,) = saved_steps(tmp_path)
    assert (found.step, found.size, found.is_complete) == (5, 0, False)


def test_a_checkpoint_of_transformers_trainer_is_complete_when_its_state_is_there(tmp_path: Path) -> None:
    """It has no `.metadata`: all of them counted as incomplete, and `--resume` refused them."""
    for step, files in ((500, ("model.safetensors", "trainer_state.json")), (1000, ("model.safetensors",))):
        place = tmp_path / f"checkpoint-{step}"
        place.mkdir()
        for name in files:
            (place / name).write_text("{}")
    assert [(one.step, one.is_complete, one.damage) for one in examined_steps(tmp_path)] == [(1000, False, ""), (500, True, "")]
    newest = newest_complete(tmp_path)
    assert newest is not None
    assert newest[0] == 500
    (tmp_path / "checkpoint-500/trainer_state.json").write_text('{"global_step": 5')
    assert [one.damage for one in examined_steps(tmp_path)] == ["", "trainer_state.json is truncated"]


@pytest.mark.parametrize(
    ("files", "complete"),
    [
        pytest.param({40: ["trainer_state.json"], 20: ["trainer_state.json"]}, [40, 20], id="the Trainer's own"),
        pytest.param({40: ["trainer_state.json"], 20: ["trainer_state.json", ".metadata"]}, [20], id="one has .metadata"),
        pytest.param({40: ["trainer_state.json", ".metadata.new"]}, [], id="the only one, killed before its .metadata"),
        pytest.param({40: ["trainer_state.json", ".metadata"]}, [40], id="the only one, complete"),
        pytest.param({40: ["trainer_state.json", "fsdp_0/.metadata"]}, [40], id="a .metadata of a part"),
        pytest.param(
            {30: [".metadata.new"], 20: ["trainer_state.json"], 10: ["trainer_state.json"]},
            [20, 10],
            id="the Trainer's own, beside a save that has only begun",
        ),
        pytest.param({20: ["trainer_state.json"], 10: [".metadata"]}, [20, 10], id="the Trainer's own, beside one of torch"),
    ],
)
def test_a_checkpoint_of_the_recipe_is_complete_only_when_all_ranks_have_written(
    tmp_path: Path, files: dict[int, list[str]], complete: list[int]
) -> None:
    """finetune.py saves by the Trainer, and its rank 0 adds `.metadata` after a barrier: a kill between both left a checkpoint
    that counted as complete, and that the recipe itself ignores."""
    for step, names in files.items():
        for name in names:
            path = tmp_path / f"checkpoint-{step}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{}")
    assert [step.step for step in saved_steps(tmp_path) if step.is_complete] == complete
    newest = newest_complete(tmp_path)
    assert (newest and newest[0]) == (complete[0] if complete else None)


def test_checkpoints_are_read_from_the_newest_to_the_first_that_is_whole() -> None:
    """A bucket answers one request at a time: the marks of all its checkpoints were read, one after the other."""
    states = {step: b'{"global_step": 5' if step > 997 else b"{}" for step in range(1000)}
    files = [StoredFile(f"checkpoint-{step}/trainer_state.json", len(state), NOON) for step, state in states.items()]
    asked = []

    def read(path: str) -> bytes:
        asked.append(path.partition("/")[0])
        return states[int(asked[-1].removeprefix("checkpoint-"))]

    found = steps_of(files, read)
    assert asked == ["checkpoint-999", "checkpoint-998", "checkpoint-997"]
    assert [step.step for step in found if step.damage] == [999, 998]
    assert all(step.is_complete for step in found)


@pytest.mark.parametrize("norm", [float("nan"), float("inf"), -float("inf")])
def test_a_state_with_a_gradient_that_is_not_finite_is_whole(tmp_path: Path, norm: float) -> None:
    """Training with fp16 logs such values, and the Trainer writes them with `json.dumps`."""
    place = tmp_path / "checkpoint-20"
    place.mkdir()
    (place / "trainer_state.json").write_text(json.dumps({"log_history": [{"grad_norm": norm, "step": 20}]}, indent=2) + "\n")
    assert [(one.is_complete, one.damage) for one in examined_steps(tmp_path)] == [(True, "")]
    assert newest_damage(saved_files(tmp_path), reader(tmp_path)) == ("", "")


def test_no_directory_holds_none(tmp_path: Path) -> None:
    assert saved_steps(tmp_path / "missing") == []
    (tmp_path / "file").touch()
    assert saved_steps(tmp_path / "file") == []


def job(name: str, directory: Path, *, resumed: str = "") -> dict[str, Any]:
    volume = {"name": "checkpoints", "hostPath": {"path": str(directory)}}
    pods = {"name": "node", "template": {"spec": {"template": {"spec": {"volumes": [volume]}}}}}
    patch = {"manager": "shunter.dev/run", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [pods]}}}}
    env = [{"name": "SHUNTER_CHECKPOINT_DIR", "value": f"/workspace/checkpoints/{resumed or name}"}]
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"runtimePatches": [patch], "trainer": {"env": env}},
    }


def test_checkpoints_are_found_of_jobs_that_are_gone_and_in_directories_that_jobs_name(tmp_path: Path) -> None:
    root, own = tmp_path / "state", tmp_path / "own"
    for place in (root / "team" / "gone", own / "named", own / "first"):
        save(place, 5)
    (root / "team" / "empty").mkdir()
    found = saved_checkpoints(root, [job("named", own), job("second", own, resumed="first"), job("unsaved", own)])
    assert [(one.namespace, one.job, one.directory, [step.step for step in one.steps]) for one in found] == [
        ("team", "first", str(own / "first"), [5]),
        ("team", "gone", str(root / "team" / "gone"), [5]),
        ("team", "named", str(own / "named"), [5]),
    ]


def test_the_newest_complete_step_is_what_a_running_job_has_saved_whatever_it_has_reported(tmp_path: Path) -> None:
    for step, is_complete in ((9, True), (40, True), (50, False)):
        save(tmp_path / "first", step, is_complete=is_complete)
    assert newest_complete(tmp_path / "first") == (40, NOON)
    resumed = job("second", tmp_path, resumed="first")
    assert with_saved(None, resumed) == Progress(checkpoint=Checkpoint(40, NOON))
    reported = Progress(step=44, checkpoint=Checkpoint(30, seconds=2.0, every=10))
    assert with_saved(reported, resumed) == Progress(step=44, checkpoint=Checkpoint(40, NOON, seconds=2.0, every=10))


def test_a_report_stays_where_no_directory_says_more(tmp_path: Path) -> None:
    reported = Progress(step=44, checkpoint=Checkpoint(30))
    assert newest_complete(tmp_path / "missing") is None
    assert with_saved(reported, job("second", tmp_path)) == reported
    save(tmp_path / "second", 40)
    ended = {**job("second", tmp_path), "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    assert with_saved(reported, ended) == reported
    elsewhere = job("second", tmp_path)
    elsewhere["spec"]["trainer"]["env"][0]["value"] = "s3://bucket/second"
    assert with_saved(reported, elsewhere) == reported


def options(checkpoints: Checkpoints | None = None) -> LaunchOptions:
    return LaunchOptions(program=Program(path="train.py"), checkpoints=checkpoints)


def test_the_embedded_cluster_keeps_checkpoints_of_which_it_is_told_no_place(tmp_path: Path) -> None:
    claim = Checkpoints(claim="data")
    assert with_checkpoints(options(), "team", tmp_path).checkpoints == Checkpoints(directory=str(tmp_path / "team"))
    assert with_checkpoints(options(claim), "team", tmp_path).checkpoints == claim
    assert with_checkpoints(options(), "team", None).checkpoints is None


def test_a_directory_is_refused_where_it_cannot_be_mounted(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="work only on the embedded cluster"):
        with_checkpoints(options(Checkpoints(directory=str(tmp_path))), "team", None)
    with pytest.raises(InputError, match=r"is not a directory. Name a directory, or leave"):
        with_checkpoints(options(Checkpoints(directory=str(tmp_path / "file"))), "team", tmp_path)


def test_whatever_a_job_left_in_its_directory_keeps_its_name_from_a_new_one(tmp_path: Path) -> None:
    save(tmp_path / "ours", 5)
    (tmp_path / "another-layout" / "checkpoint-5").mkdir(parents=True)
    (tmp_path / "nothing").mkdir()
    (tmp_path / "file").touch()
    assert names_with_checkpoints(str(tmp_path)) == {"ours", "another-layout"}
    assert names_with_checkpoints("") == names_with_checkpoints(str(tmp_path / "missing")) == set()


AS_ANOTHER = """
import json, sys
from pathlib import Path
from shunter.errors import InputError
from shunter.launch.checkpoints.saved import names_with_checkpoints, saved_steps
def tried(work):
    try:
        return work()
    except InputError as error:
        return error.message
place = Path(sys.argv[1])
steps = {name: tried(lambda: [one.step for one in saved_steps(place / name)]) for name in ("mine", "yours", "half")}
print(json.dumps([steps, tried(lambda: sorted(names_with_checkpoints(str(place)))), tried(
    lambda: sorted(names_with_checkpoints(str(place / "yours"))))]))
"""


@pytest.mark.integration
def test_what_may_not_be_read_is_not_taken_for_nothing(tmp_path: Path) -> None:
    """A traceback ended `run --checkpoints` beside another user's directory, and one of a step counted as incomplete."""
    for name in ("mine", "yours", "half"):
        save(tmp_path / name, 5)
    closed = (tmp_path / "yours", tmp_path / "half/step-5")
    for directory in closed:
        directory.chmod(0)
    try:
        command = [sys.executable, "-c", WITH_PERMISSIONS, sys.executable, "-c", AS_ANOTHER, str(tmp_path)]
        done = subprocess.run(command, check=True, capture_output=True)
    finally:
        for directory in closed:
            directory.chmod(0o700)
    refused = "checkpoints: {} cannot be read: Permission denied."
    steps, names, closed_names = json.loads(done.stdout)
    assert steps == {"mine": [5], "yours": refused.format(closed[0]), "half": refused.format(closed[1])}
    assert (names, closed_names) == (["half", "mine", "yours"], refused.format(closed[0]))


WRITES_AS_ANOTHER = """
import sys
from shunter.errors import InputError
from shunter.launch.checkpoints.saved import with_checkpoints
from shunter.launch.options import Checkpoints, LaunchOptions, Program
from pathlib import Path
options = LaunchOptions(program=Program(path="train.py"), checkpoints=Checkpoints(directory=sys.argv[1]))
try:
    with_checkpoints(options, "team", Path())
except InputError as error:
    print(error)
"""


@pytest.mark.integration
def test_a_directory_that_may_not_be_written_to_is_refused_before_there_is_a_job(tmp_path: Path) -> None:
    """The job was created, and failed when its pod made a directory there."""
    (place := tmp_path / "closed").mkdir(mode=0o555)
    command = [sys.executable, "-c", WITH_PERMISSIONS, sys.executable, "-c", WRITES_AS_ANOTHER, str(place)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == (
        f"--checkpoints {place} cannot be written to: Permission denied. "
        "Name a directory that you may write to, or let its owner change its mode."
    )


@pytest.mark.integration
def test_a_directory_on_a_read_only_file_system_is_refused(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", 1) as disk:
        (disk.path / "train").mkdir()
        subprocess.run(["mount", "-o", "remount,ro", str(disk.path)], check=True)
        for place in (disk.path, disk.path / "train"):
            with pytest.raises(InputError, match=rf"{place} cannot be written to: Read-only file system. Name a directory on"):
                with_checkpoints(options(Checkpoints(directory=str(place))), "team", tmp_path)
        below = Checkpoints(directory=str(disk.path / "new"))
        assert with_checkpoints(options(below), "team", tmp_path).checkpoints == below
        with pytest.raises(InputError, match=r"new cannot be created: Read-only file system"):
            make_directory(below, tmp_path, "team")
