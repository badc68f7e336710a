"""examples/recipes/lm.py: losses depend neither on ranks nor on stops, and what it cannot do it says in one sentence."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from full_disk import SmallDisk
from recipes.ranks import LM, Ranks, chosen_samples, eventually, in_forked_process, logged, removed_in_order

pytestmark = pytest.mark.timeout(300)

SAMPLES, SEQUENCE = 50, 16  # an epoch ends in the middle of its fifth batch
TINY = ("--sequence", SEQUENCE, "--dim", 32, "--heads", 2, "--layers", 2, "--global-batch", 12)
STEPS, SAVED = 10, 6  # step 6 is in the middle of the second epoch
KILLS = int(os.environ.get("RECIPE_KILLS", "2"))


def close(losses: dict[int, float], expected: dict[int, float], tolerance: float = 1e-5) -> bool:
    return max(abs(losses[step] - expected[step]) for step in losses) <= tolerance


class Reference(NamedTuple):
    """Ten steps with FSDP on two ranks; a checkpoint of step 6 was saved while they ran."""

    losses: dict[int, float]
    checkpoints: Path
    options: tuple[object, ...]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    directory = tmp_path_factory.mktemp("reference")
    text = directory / "text"
    text.write_bytes(random.Random(1).randbytes(2) + bytes(ord("a") + i * i % 23 for i in range(SAMPLES * SEQUENCE)))
    options = (*TINY, "--data", text, "--steps", STEPS)
    saving = ("--checkpoint-dir", directory / "checkpoints", "--save-every", SAVED)
    losses = Ranks(directory, 2, "--parallel", "fsdp", *options, *saving).losses()
    assert list(losses) == list(range(1, STEPS + 1))
    assert losses[STEPS] < losses[1] - 0.5, "nothing was learned"
    return Reference(losses, directory / "checkpoints", options)


@pytest.fixture
def saved(reference: Reference, tmp_path: Path) -> Path:
    """A directory with the checkpoint of step 6 alone."""
    shutil.copytree(reference.checkpoints / f"step-{SAVED}", tmp_path / f"checkpoints/step-{SAVED}")
    return tmp_path / "checkpoints"


FROM_START = {
    "DDP": (2, ("--parallel", "ddp")),
    "one process": (1, ("--parallel", "ddp")),
    "accumulation and activation checkpointing with FSDP": (2, ("--parallel", "fsdp", "--accumulate", 3, "--recompute")),
    "accumulation and activation checkpointing with DDP": (2, ("--parallel", "ddp", "--accumulate", 3, "--recompute")),
}


@pytest.mark.parametrize(("world", "options"), FROM_START.values(), ids=FROM_START)
def test_losses_are_those_of_fsdp_on_two_ranks(
    reference: Reference, tmp_path: Path, world: int, options: tuple[object, ...]
) -> None:
    losses = Ranks(tmp_path, world, *options, *reference.options).losses()
    assert len(losses) == STEPS
    assert close(losses, reference.losses), (losses, reference.losses)


RESUMED = {
    "FSDP on two ranks, exactly": (2, ("--parallel", "fsdp"), 0.0),
    "FSDP on three ranks": (3, ("--parallel", "fsdp"), 1e-5),
    "DDP on three ranks": (3, ("--parallel", "ddp"), 1e-5),
}


@pytest.mark.parametrize(("world", "options", "tolerance"), RESUMED.values(), ids=RESUMED)
def test_a_checkpoint_of_two_fsdp_ranks_goes_on_in_the_middle_of_an_epoch(
    reference: Reference, saved: Path, tmp_path: Path, world: int, options: tuple[object, ...], tolerance: float
) -> None:
    losses = Ranks(tmp_path, world, *options, *reference.options, "--checkpoint-dir", saved).losses()
    assert list(losses) == list(range(SAVED + 1, STEPS + 1))
    assert close(losses, reference.losses, tolerance), (losses, reference.losses)


@pytest.mark.parametrize("parallel", [pytest.param("fsdp", marks=pytest.mark.long), "ddp"])
def test_saves_that_share_a_copy_as_on_a_gpu_hold_the_step_they_were_made_at(
    reference: Reference, tmp_path: Path, parallel: str
) -> None:
    """Without a GPU memory cannot be pinned. Apart from that it is the code that a GPU runs: the first save makes the copy, the
    others write into it."""
    replaced = {
        "cache_staged_state_dict=torch.cuda.is_available()": "cache_staged_state_dict=True",
        "class Silent": "torch.Tensor.pin_memory = lambda tensor: print('pinned', flush=True) or tensor\nclass Silent",
    }
    text = LM.read_text()
    for old, new in replaced.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    script, checkpoints = tmp_path / "lm.py", tmp_path / "checkpoints"
    script.write_text(text)
    saving = (*reference.options, "--parallel", parallel, "--checkpoint-dir", checkpoints, "--save-every", 3, "--keep", 9)
    ranks = Ranks(tmp_path, 2, *saving, script=script)
    assert ranks.exit_codes() == [0, 0], ranks.printed()
    first, later = ranks.printed().split("saved step 3\n")
    assert "pinned" in first
    assert "pinned" not in later
    assert "saved step 9" in later
    shutil.rmtree(checkpoints / f"step-{STEPS}")
    shutil.rmtree(checkpoints / "step-9")
    losses = Ranks(tmp_path / "again", 2, *saving).losses()
    assert list(losses) == list(range(SAVED + 1, STEPS + 1))
    assert close(losses, reference.losses), (losses, reference.losses)


def test_a_checkpoint_of_one_process_goes_on_with_fsdp(reference: Reference, tmp_path: Path) -> None:
    saving = ("--checkpoint-dir", tmp_path / "checkpoints")
    Ranks(tmp_path / "before", 1, *reference.options, *saving, "--steps", SAVED).losses()
    losses = Ranks(tmp_path, 2, "--parallel", "fsdp", *reference.options, *saving).losses()
    assert list(losses) == list(range(SAVED + 1, STEPS + 1))
    assert close(losses, reference.losses), (losses, reference.losses)


def test_the_learning_rate_of_the_command_line_counts_when_resumed(reference: Reference, saved: Path, tmp_path: Path) -> None:
    losses = Ranks(tmp_path, 2, *reference.options, "--checkpoint-dir", saved, "--lr", 0.1).losses()
    assert close({SAVED + 1: losses[SAVED + 1]}, reference.losses)
    assert not close({STEPS: losses[STEPS]}, reference.losses, 1e-3)


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_bfloat16_is_near_but_not_the_same(reference: Reference, tmp_path: Path, parallel: str) -> None:
    losses = Ranks(tmp_path, 2, "--parallel", parallel, "--bf16", *reference.options).losses()
    assert close(losses, reference.losses, 0.03), (losses, reference.losses)
    assert not close(losses, reference.losses, 1e-5)


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs a C++ compiler on a CPU")
def test_compiled_blocks_give_the_same_losses(reference: Reference, tmp_path: Path) -> None:
    # The first compilation on a machine takes a minute of both cores.
    losses = Ranks(tmp_path, 1, "--compile", *reference.options).losses(seconds=270)
    assert close(losses, reference.losses), (losses, reference.losses)


def test_an_epoch_has_each_sample_once_whatever_the_number_of_ranks() -> None:
    """Batches of 12 of 50 samples: two epochs and 4 samples of a third are 8 steps and 8 samples."""

    def row(seed: int, world: int) -> list[int]:
        steps = in_forked_process(all_steps, seed, world)
        return [sample for step in steps for sample in step]

    order = row(seed=0, world=1)
    assert sorted(order[:SAMPLES]) == sorted(order[SAMPLES : 2 * SAMPLES]) == list(range(SAMPLES))
    assert order[:SAMPLES] != order[SAMPLES : 2 * SAMPLES]
    assert row(seed=0, world=3) == order
    assert row(seed=1, world=1) != order


def all_steps(seed: int, world: int) -> list[list[int]]:
    """The samples of nine steps in the order of their places: rank 0 has places 0, world, 2 x world..."""
    dealt = [chosen_samples(SAMPLES, 12, step, seed, world) for step in range(9)]
    return [[sample for places in zip(*ranks, strict=True) for sample in places] for ranks in dealt]


def test_sigterm_of_one_rank_stops_all_after_the_same_step(reference: Reference, tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints"
    ranks = Ranks(tmp_path, 2, *reference.options, "--steps", 100_000, "--checkpoint-dir", checkpoints, "--save-every", 100_000)
    eventually(lambda: len(logged(ranks.log)) > 3)
    assert ranks.processes[1].pid
    os.kill(ranks.processes[1].pid, signal.SIGTERM)
    assert ranks.exit_codes() == [143, 143], ranks.printed()
    step = max(logged(ranks.log))
    assert ranks.printed().splitlines()[-1] == f"stopped by SIGTERM, saved step {step}"
    assert [found.parent.name for found in checkpoints.glob("*/.metadata")] == [f"step-{step}"]


def test_sigterm_without_a_checkpoint_directory_says_that_nothing_is_saved(reference: Reference, tmp_path: Path) -> None:
    ranks = Ranks(tmp_path, 1, *reference.options, "--steps", 100_000)
    eventually(lambda: len(logged(ranks.log)) > 3)
    assert ranks.processes[0].pid
    os.kill(ranks.processes[0].pid, signal.SIGTERM)
    assert ranks.exit_codes() == [143]
    assert "stopped by SIGTERM, saved nothing" in ranks.printed()


@pytest.mark.long
def test_sigterm_to_torchrun_saves_within_the_grace_period(reference: Reference, tmp_path: Path) -> None:
    """All of it for once: torchrun, its own import of torch in each rank, and its own SIGTERM to them."""
    log, checkpoints = tmp_path / "losses.jsonl", tmp_path / "checkpoints"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    options = ("--parallel", "fsdp", *reference.options, "--steps", 100_000, "--log", log, "--save-every", 100_000)
    command = [*torchrun, "--", str(LM), *map(str, options)]
    environment = os.environ | {"SHUNTER_CHECKPOINT_DIR": str(checkpoints), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            eventually(lambda: len(logged(log)) > 3, seconds=120)
            process.terminate()
            printed, errors = process.communicate(timeout=60)  # torchrun kills after 30 seconds
        finally:
            process.kill()
    assert process.returncode != 0
    step = max(logged(log))
    assert f"stopped by SIGTERM, saved step {step}\n" in printed, (printed, errors)
    assert [found.parent.name for found in checkpoints.glob("*/.metadata")] == [f"step-{step}"]


@pytest.mark.timeout(200 + 40 * KILLS)
def test_killed_in_the_middle_of_saves_it_goes_on_from_the_newest_complete_one(reference: Reference, tmp_path: Path) -> None:
    """RECIPE_KILLS=20 kills it 20 times."""
    checkpoints, steps = tmp_path / "checkpoints", 8 * (KILLS + 1)
    options = ("--parallel", "fsdp", *reference.options, "--steps", steps)
    expected = Ranks(tmp_path / "undisturbed", 2, *options).losses()

    def found() -> tuple[int, bool]:
        """The newest complete step, and whether a newer one is half written."""
        names = os.listdir(checkpoints) if checkpoints.exists() else []
        made = [int(name[5:]) for name in names if name.startswith("step-")]
        complete = [step for step in made if (checkpoints / f"step-{step}/.metadata").exists()]
        newest = max(complete, default=0)
        return newest, any(step > newest for step in made)

    def is_saving(start: int) -> bool:
        """Whether it has saved more than it started from, and is at it again."""
        newest, is_half_written = found()
        return newest > start and is_half_written

    begun, half_written, chance = 0, 0, random.Random(os.urandom(8))
    for kill in range(KILLS):
        ranks = Ranks(tmp_path, 2, *options, "--checkpoint-dir", checkpoints, "--save-every", 2, "--keep", 2)
        eventually(partial(is_saving, begun))
        time.sleep(chance.uniform(0, 0.02))  # no wait for anything: the moment is to be a random one
        ranks.kill()
        assert f"from step {begun} to" in ranks.printed(), kill
        begun, half = found()
        half_written += half
    ranks = Ranks(tmp_path, 2, *options, "--checkpoint-dir", checkpoints, "--save-every", 2, "--keep", 2)
    losses = ranks.losses()
    assert f"from step {begun} to {steps}" in ranks.printed()
    assert list(losses) == list(range(1, steps + 1))
    assert half_written >= KILLS / 2
    every_line = [json.loads(line) for line in ranks.log.read_text().splitlines()]
    assert max(abs(line["loss"] - expected[line["step"]]) for line in every_line) <= 1e-5


def test_old_checkpoints_go_and_the_last_step_is_saved(reference: Reference, tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints"
    options = (*reference.options, "--steps", 7, "--checkpoint-dir", checkpoints, "--save-every", 2, "--keep", 2)
    Ranks(tmp_path, 2, *options).losses()
    assert sorted(os.listdir(checkpoints)) == ["step-6", "step-7"]
    again = Ranks(tmp_path, 2, *options)
    assert again.exit_codes() == [0, 0]
    assert "from step 7 to 7" in again.printed()
    assert sorted(os.listdir(checkpoints)) == ["step-6", "step-7"]


@pytest.mark.parametrize(
    ("keep_every", "removed"),
    [
        pytest.param(None, ["step-2", "step-4", "step-5"], id="the newest stays"),
        pytest.param(5, ["step-2", "step-4"], id="and every fifth step"),
    ],
)
def test_a_checkpoint_is_no_longer_complete_when_its_files_go(tmp_path: Path, keep_every: int | None, removed: list[str]) -> None:
    for step in (2, 10, 4, 5):
        (tmp_path / f"step-{step}").mkdir()
        for file in (".metadata", "__0_0.distcp", "__1_0.distcp"):
            (tmp_path / f"step-{step}" / file).touch()
    (tmp_path / "step-12").mkdir()  # being written
    (tmp_path / "step-latest").mkdir()
    gone = in_forked_process(removed_in_order, tmp_path, 1, keep_every)
    assert gone[::3] == [f"{step}/.metadata" for step in removed]
    assert sorted(gone) == [f"{step}/{file}" for step in removed for file in (".metadata", "__0_0.distcp", "__1_0.distcp")]
    assert not [step for step in removed if (tmp_path / step).exists()]


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def lose_shards(checkpoints: Path) -> None:
    for file in checkpoints.glob("step-6/*.distcp"):
        shorten(file)


def cut_shards(checkpoints: Path) -> None:
    for shard in checkpoints.glob("step-6/*.distcp"):
        os.truncate(shard, 1000)


def lose_metadata(checkpoints: Path) -> None:
    shorten(checkpoints / "step-6/.metadata")


def change_nothing(checkpoints: Path) -> None:
    pass


def block_step_7(checkpoints: Path) -> None:
    (checkpoints / "step-7").touch()


REFUSED = {
    "a batch that the ranks cannot share": (change_nothing, ("--global-batch", 9), "multiple of 2 ranks x --accumulate 1"),
    "a batch that the passes cannot share": (change_nothing, ("--accumulate", 4), "multiple of 2 ranks x --accumulate 4"),
    "a model of other heads and the same shapes": (
        change_nothing,
        ("--heads", 4),
        "step-6 was made with heads 2, this run has 4",
    ),
    "another batch": (change_nothing, ("--global-batch", 24), "step-6 was made with global_batch 12, this run has 24"),
    "another text": (change_nothing, ("--data", LM), "step-6 was made with bytes"),
    "half of the shards": (lose_shards, (), "step-6 is damaged: remove it"),
    "a shard cut short": (cut_shards, (), "step-6 is damaged: remove it"),
    "half of the metadata": (lose_metadata, (), "step-6 is damaged: remove it"),
    "a directory that is a file": (change_nothing, ("--checkpoint-dir", LM), "must be a directory that all nodes share"),
    "no text": (change_nothing, ("--data", "/nowhere"), "'/nowhere'. Each node needs the file of --data"),
    "a text of less than a sample": (change_nothing, ("--data", "/dev/null"), "--data must have more bytes than --sequence"),
    "heads that do not fit": (change_nothing, ("--heads", 5), "Change --dim, --heads or --layers"),
    "a loss that is not finite": (change_nothing, ("--lr", 1e30), "resume from the newest checkpoint with a smaller --lr"),
}


@pytest.mark.parametrize(("damage", "options", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_said_once_and_ends_all_ranks(
    reference: Reference, saved: Path, tmp_path: Path, damage: Callable[[Path], None], options: tuple[object, ...], sentence: str
) -> None:
    damage(saved)
    ranks = Ranks(tmp_path, 2, *reference.options, "--checkpoint-dir", saved, *options)
    assert ranks.exit_codes() == [2, 2], ranks.printed()
    printed = ranks.printed()
    assert sentence in printed
    assert "Traceback" not in printed
    assert len(re.findall("^error: ", printed, re.MULTILINE)) == 1
    assert not list(saved.glob("tried*"))


def test_a_save_that_fails_ends_with_1_as_the_disk_may_be_back_when_the_job_is_restarted(
    reference: Reference, saved: Path, tmp_path: Path
) -> None:
    (saved / "step-7").touch()
    ranks = Ranks(tmp_path, 2, *reference.options, "--checkpoint-dir", saved, "--save-every", 7)
    assert ranks.exit_codes() == [1, 1], ranks.printed()
    assert "Step 7 is not saved" in ranks.printed()
    assert "Traceback" not in ranks.printed()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param("OSError(5, 'Input/output error')", 1, id="a disk that failed"),
        pytest.param("TimeoutError('timed out')", 1, id="a network that failed"),
        pytest.param("type('S3Exception', (Exception,), {})('503')", 1, id="an error that nobody knows"),
        pytest.param("FileNotFoundError(2, 'No such file')", 2, id="no file"),
        pytest.param("PermissionError(13, 'Permission denied')", 2, id="no right"),
    ],
)
def test_only_wrong_input_ends_with_2(reference: Reference, tmp_path: Path, error: str, code: int) -> None:
    """A job of shunter-torch that ends with 2 is not restarted, so what may pass must end with something else."""
    before, after = LM.read_text().split("        step = together(lambda: mark.unlink() or ")
    script = tmp_path / "lm.py"
    failing = f"        def fail(): raise {error}\n        together(fail, 'Remedy.', alone=True)\n"
    script.write_text(before + failing + "        step = together(lambda: mark.unlink() or " + after)
    ranks = Ranks(tmp_path, 2, *reference.options, "--checkpoint-dir", tmp_path / "checkpoints", script=script)
    assert ranks.exit_codes() == [code, code], ranks.printed()
    assert ranks.printed().count("Remedy.") == 1


def test_a_full_disk_is_said_and_what_was_complete_stays(reference: Reference, small_disk: SmallDisk, tmp_path: Path) -> None:
    saving = ("--checkpoint-dir", small_disk.path, "--save-every", 1)  # 45 of 64 MB each time
    ranks = Ranks(tmp_path, 2, *reference.options, "--dim", 384, "--steps", 2, *saving)
    assert ranks.exit_codes() == [1, 1], ranks.printed()
    assert "Step 2 is not saved: --checkpoint-dir must have room" in ranks.printed()
    assert [found.parent.name for found in small_disk.path.glob("*/.metadata")] == ["step-1"]


def test_ranks_that_do_not_share_a_directory_are_refused(reference: Reference, tmp_path: Path) -> None:
    own = tuple({"SHUNTER_CHECKPOINT_DIR": str(tmp_path / f"disk-{rank}")} for rank in range(2))
    ranks = Ranks(tmp_path, 2, *reference.options, environments=own)
    assert ranks.exit_codes() == [2, 2], ranks.printed()
    assert "must be a directory that all nodes share" in ranks.printed()


def test_a_start_that_must_resume_does_not_begin_anew(reference: Reference, tmp_path: Path) -> None:
    environment = {"SHUNTER_CHECKPOINT_DIR": str(tmp_path / "empty"), "SHUNTER_MUST_RESUME": "true"}
    ranks = Ranks(tmp_path, 1, *reference.options, environments=(environment,))
    assert ranks.exit_codes() == [2], ranks.printed()
    assert f"error: no complete checkpoint in {tmp_path / 'empty'} to resume from." in ranks.printed()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param(("--save-every", 0), "--save-every 0 must be 1 or more", id="no steps"),
        pytest.param(("--stepz", 3), "unrecognized arguments", id="a misspelled option"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: tuple[object, ...], sentence: str) -> None:
    ranks = Ranks(tmp_path, 1, *options)
    assert ranks.exit_codes() == [2]
    assert sentence in ranks.printed()


def test_it_is_short_enough_to_be_read() -> None:
    lines = LM.read_text().splitlines()
    assert len(lines) <= 250
    assert max(map(len, lines)) <= 130


def test_it_runs_without_the_files_beside_it(reference: Reference, tmp_path: Path) -> None:
    """Where they are, they are not asked for by a training without a cluster, MLflow or bucket."""
    alone = shutil.copy(LM, tmp_path / "lm.py")
    options = (*reference.options, "--steps", 2, "--checkpoint-dir", tmp_path / "checkpoints", "--log", tmp_path / "losses.jsonl")
    ranks = Ranks(tmp_path, 1, *options, script=Path(alone))
    assert ranks.exit_codes() == [0], ranks.printed()
    assert close(logged(ranks.log), reference.losses)
    assert os.listdir(tmp_path / "checkpoints") == ["step-2"]
    bucket = Ranks(tmp_path, 1, *options, "--checkpoint-dir", "s3://bucket/x", script=Path(alone))
    assert bucket.exit_codes() == [2]
    assert "error: No module named 'buckets'. A URL needs buckets.py beside lm.py" in bucket.printed()
