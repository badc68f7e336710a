"""The order in which a step of a recorded case writes the statuses of pods."""

from player.live_cluster import Place
from player.play import in_turn
from shunter.api.resources import PODS


def test_pods_that_have_not_ended_are_written_before_those_of_earlier_steps() -> None:
    phases = {"a": "Failed", "b": "Running", "c": "Succeeded", "d": "Pending", "e": None}
    pods = {Place(PODS, "case", name): {"status": {"phase": phase} if phase else {}} for name, phase in phases.items()}
    assert [place.name for place in in_turn(pods)] == ["b", "d", "e", "a", "c"]
