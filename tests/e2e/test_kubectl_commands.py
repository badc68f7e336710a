"""What kubectl, the oldest and the newest, shows of the cluster is what it shows of a real API server, or the table says why not.

tests/kubectl/commands.yaml is the table, tests/kubectl/answers/ is what was recorded (`make kubectl-answers`). Stories in which a
real server answers both versions alike are `long` for the oldest."""

from __future__ import annotations

import os
from difflib import unified_diff

import pytest

from e2e.real_cluster import RealCluster
from e2e.running_cluster import Cluster
from kubectl.binaries import NEWEST, OLDEST, KubectlMissing, locked_version, supported_kubectls
from kubectl.play import play
from kubectl.table import Command, Json, read_answers, recorded_versions, stories

pytestmark = pytest.mark.timeout(300)


def _repeats_newest(version: str, story: str) -> bool:
    newest = recorded_versions()[-1]
    return version != newest and read_answers(version)[story] == read_answers(newest)[story]


CASES = [
    pytest.param(
        version,
        story,
        number,
        id=f"{version} {story}: {command.run}",
        marks=[pytest.mark.long] if _repeats_newest(version, story) else [],
    )
    for version in recorded_versions()
    for story, commands in stories().items()
    for number, command in enumerate(commands)
    if not command.prepares
]


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest, cluster: Cluster) -> dict[str, dict[str, list[Json]]]:
    """The answers of this cluster, by version and story, of the stories that a test of this run asks for."""
    try:
        kubectls = supported_kubectls()
    except KubectlMissing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    asked: dict[str, set[str]] = {}
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.function is test_a_command_is_answered_as_by_a_real_server:
            version, story = str(item.callspec.params["version"]), str(item.callspec.params["story"])
            asked.setdefault(version, set()).add(story)
    return _played(cluster, kubectls, asked)


def _played(cluster: Cluster, kubectls: dict[str, str], asked: dict[str, set[str]]) -> dict[str, dict[str, list[Json]]]:
    if isinstance(cluster, RealCluster):
        from e2e.node_metrics import NodeMetrics

        with NodeMetrics(cluster):
            return play(cluster, kubectls, asked)
    return play(cluster, kubectls, asked)


@pytest.mark.parametrize(("version", "story", "number"), CASES)
def test_a_command_is_answered_as_by_a_real_server(
    version: str, story: str, number: int, cluster: Cluster, played: dict[str, dict[str, list[Json]]]
) -> None:
    recorded, told = read_answers(version)[story][number], played[version][story][number]
    differs = stories()[story][number].differs if cluster.kind == "embedded" else ""
    if differs:
        assert told != recorded, f"no longer different, take it out of commands.yaml: {differs}"
    else:
        assert told == recorded, "\n".join(unified_diff(_lines(recorded), _lines(told), "real server", "this one", lineterm=""))


def _lines(answer: Json) -> list[str]:
    return [f"exit code {answer['code']}", *answer.get("out", ()), "standard error:", *answer.get("err", ())]


def test_the_answers_are_those_of_these_commands_and_versions() -> None:
    remedy = "record them: make kubectl-answers"
    assert recorded_versions() == [locked_version(OLDEST), locked_version(NEWEST)], remedy
    asked = {story: [command.run for command in commands] for story, commands in stories().items()}
    for version in recorded_versions():
        recorded = {story: [answer["run"] for answer in answers] for story, answers in read_answers(version).items()}
        assert recorded == asked, remedy


def test_reasons_are_sentences_and_those_of_one_command_are_one() -> None:
    reasons: dict[str, set[str]] = {}
    for command in _all_commands():
        assert not command.differs or command.differs.endswith(".")
        reasons.setdefault(command.run, set()).add(command.differs)
    assert all(len(told) == 1 for told in reasons.values())


def _all_commands() -> list[Command]:
    return [command for commands in stories().values() for command in commands]
