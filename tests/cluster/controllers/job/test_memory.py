"""How pods ended that are deleted by now."""

from __future__ import annotations

from cluster.controllers.job.tallied import NOW, ago, job, pod
from shunter.cluster.controllers.job.memory import FinishMemory

ENDED = {"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": ago(60)}]}


def test_the_end_of_a_pod_is_remembered_when_the_pod_is_gone() -> None:
    memory = FinishMemory()
    memory.past(job(), [pod("failed", "Failed"), pod("done", "Succeeded"), pod("running")], NOW)
    later = memory.past(job(), [], NOW)
    assert {name: finish.succeeded for name, finish in later.items()} == {"failed": False, "done": True}


def test_pods_that_were_counted_or_are_of_others_are_not_taken_in() -> None:
    memory = FinishMemory()
    assert memory.past(job(), [pod("counted", "Failed", tracked=False)], NOW) == {}
    assert memory.past(job(), [], NOW) == {}


def test_what_is_returned_does_not_change_later() -> None:
    memory = FinishMemory()
    first = memory.past(job(), [], NOW)
    memory.past(job(), [pod("a", "Failed")], NOW)
    assert first == {}


def test_nothing_is_remembered_of_a_job_that_has_ended_or_is_gone() -> None:
    ended, gone = FinishMemory(), FinishMemory()
    for memory in (ended, gone):
        memory.past(job(), [pod("a", "Failed")], NOW)
    ended.past(job(ENDED), [], NOW)
    gone.forget("u")
    assert [memory.past(job(), [], NOW) for memory in (ended, gone)] == [{}, {}]
