"""examples/recipes/images.py: learns, goes on where it stopped, and says what it cannot do."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from recipes.ranks import IMAGES, Ranks, eventually
from recipes.status_server import environment, last_report, serving

pytestmark = pytest.mark.timeout(200)


def losses(printed: str) -> dict[int, float]:
    return {int(step): float(loss) for step, loss in re.findall(r"^step (\d+) loss (\S+)$", printed, re.MULTILINE)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What two ranks print; and the first has reported how far it is."""
    directory = tmp_path_factory.mktemp("undisturbed")
    with serving() as server:
        pods = tuple(environment(directory, server.url, token=f"pod-{rank}") for rank in range(2))
        options = ("--checkpoint", directory / "images.pt", "--save-every", 31)
        ranks = Ranks(directory, 2, *options, environments=pods, script=IMAGES)
        assert ranks.exit_codes() == [0, 0], ranks.printed()
    assert set(server.tokens) == {"Bearer pod-0"}
    reported = last_report(server)
    assert (reported.step, reported.steps) == (93, 93)
    assert reported.loss == pytest.approx(losses(ranks.printed())[93], abs=1e-4)
    assert reported.checkpoint is not None
    assert (reported.checkpoint.step, reported.checkpoint.every) == (93, 31)
    return ranks.printed()


def test_two_ranks_learn(undisturbed: str) -> None:
    found = re.search(r"accuracy (\S+) of 500 other pictures", undisturbed)
    assert found, undisturbed
    assert float(found[1]) > 0.8


def test_one_process_begins_with_the_same_losses(undisturbed: str, tmp_path: Path) -> None:
    alone = Ranks(tmp_path, 1, "--epochs", 1, script=IMAGES)
    assert alone.exit_codes() == [0], alone.printed()
    assert abs(losses(alone.printed())[10] - losses(undisturbed)[10]) < 1e-3


def test_stopped_by_sigterm_it_goes_on_as_if_it_had_not_been(undisturbed: str, tmp_path: Path) -> None:
    shared = ({"SHUNTER_CHECKPOINT_DIR": str(tmp_path)},) * 2
    stopped = Ranks(tmp_path / "stopped", 2, environments=shared, script=IMAGES)
    eventually(lambda: "step 40 " in stopped.printed())
    assert stopped.processes[1].pid
    os.kill(stopped.processes[1].pid, signal.SIGTERM)
    assert stopped.exit_codes() == [143, 143], stopped.printed()
    step = re.search(r"stopped by SIGTERM, saved step (\d+)$", stopped.printed())
    assert step, stopped.printed()
    resumed = Ranks(tmp_path / "resumed", 2, environments=shared, script=IMAGES)
    assert resumed.exit_codes() == [0, 0], resumed.printed()
    assert f"from step {step[1]} to 93" in resumed.printed()
    assert resumed.printed().splitlines()[-2:] == undisturbed.splitlines()[-2:]


def test_a_start_that_must_resume_does_not_begin_anew(tmp_path: Path) -> None:
    shared = ({"SHUNTER_CHECKPOINT_DIR": str(tmp_path), "SHUNTER_MUST_RESUME": "true"},) * 2
    ranks = Ranks(tmp_path / "ranks", 2, environments=shared, script=IMAGES)
    assert ranks.exit_codes() == [2, 2], ranks.printed()
    assert f"error: no checkpoint {tmp_path / 'images.pt'} to resume from" in ranks.printed()


def test_the_learning_rate_of_the_command_line_counts_when_resumed(checkpoint: bytes, tmp_path: Path) -> None:
    """Without any learning the second epoch changes nothing."""
    path = tmp_path / "images.pt"
    path.write_bytes(checkpoint)
    accuracies = []
    for epochs in (1, 2):
        ranks = Ranks(tmp_path, 1, "--checkpoint", path, "--epochs", epochs, "--lr", 0, script=IMAGES)
        assert ranks.exit_codes() == [0], ranks.printed()
        assert "from step 31 to" in ranks.printed()
        accuracies.append(ranks.printed().splitlines()[-1])
    assert accuracies[0] == accuracies[1]


def half(checkpoint: Path) -> None:
    checkpoint.write_bytes(checkpoint.read_bytes()[:1000])


def whole(checkpoint: Path) -> None:
    pass


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    directory = tmp_path_factory.mktemp("checkpoint")
    ranks = Ranks(directory, 1, "--epochs", 1, "--checkpoint", directory / "images.pt", script=IMAGES)
    assert ranks.exit_codes() == [0], ranks.printed()
    return (directory / "images.pt").read_bytes()


REFUSED = {
    "a batch that the ranks cannot share": (whole, ("--global-batch", 7), "must be a multiple of 2 ranks"),
    "a batch of more pictures than there are": (whole, ("--global-batch", 4000), "at most 2000 pictures"),
    "another batch": (whole, ("--global-batch", 32), "is of --global-batch 64 and 2500 pictures"),
    "half of a checkpoint": (half, (), "is damaged; remove it to begin again"),
    "no pictures": (whole, ("--data", "/nowhere"), "No such file or directory: '/nowhere'"),
}


@pytest.mark.parametrize(("damage", "options", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_said_once_and_ends_all_ranks(
    checkpoint: bytes, tmp_path: Path, damage: Callable[[Path], None], options: tuple[object, ...], sentence: str
) -> None:
    path = tmp_path / "images.pt"
    path.write_bytes(checkpoint)
    damage(path)
    ranks = Ranks(tmp_path, 2, "--checkpoint", path, *options, script=IMAGES)
    assert ranks.exit_codes() == [2, 2], ranks.printed()
    assert sentence in ranks.printed()
    assert "Traceback" not in ranks.printed()
    assert len(re.findall("^error: ", ranks.printed(), re.MULTILINE)) == 1
