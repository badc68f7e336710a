"""Expectations: a key waits for its own writes, and not for ever."""

from datetime import UTC, datetime

import pytest

from shunter.api.core import Pod
from shunter.api.meta import ObjectMeta
from shunter.api.resources import CONFIG_MAPS, PODS
from shunter.kube.cache.expectations import CompletedWrite, Expectations
from shunter.kube.cache.store import Store
from shunter.kube.controllers.plan import Key

JOB = Key("n", "job")
POD = Key("n", "pod")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store() -> Store[Pod]:
    store: Store[Pod] = Store()
    store.put(Pod(metadata=ObjectMeta(name="pod", namespace="n", uid="u", resource_version="10")))
    store.observed("", "10")
    return store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def expectations(store: Store[Pod], clock: Clock) -> Expectations:
    return Expectations({PODS: store}, timeout=30, clock=clock)


def test_a_key_that_wrote_nothing_does_not_wait(expectations: Expectations) -> None:
    assert expectations.seconds_left(JOB) == 0


def test_a_key_waits_until_the_store_has_seen_its_write(expectations: Expectations, store: Store[Pod]) -> None:
    expectations.expect(JOB, [CompletedWrite(PODS, POD, "u", "12")])
    assert expectations.seconds_left(JOB) == 30
    store.observed("", "11")
    assert expectations.seconds_left(JOB) == 30
    store.observed("", "12")
    assert expectations.seconds_left(JOB) == 0


def test_a_write_that_changed_nothing_is_not_waited_for(expectations: Expectations) -> None:
    expectations.expect(JOB, [CompletedWrite(PODS, POD, "u", "9")])
    assert expectations.seconds_left(JOB) == 0


def test_what_no_informer_reads_is_not_waited_for(expectations: Expectations) -> None:
    expectations.expect(JOB, [CompletedWrite(CONFIG_MAPS, POD, "u", "12")])
    assert expectations.seconds_left(JOB) == 0


@pytest.mark.parametrize("ending", ["gone", "recreated", "terminating"])
def test_a_deletion_is_seen_when_the_object_is(expectations: Expectations, store: Store[Pod], ending: str) -> None:
    expectations.expect(JOB, [CompletedWrite(PODS, POD, "u")])
    assert expectations.seconds_left(JOB) == 30
    if ending == "gone":
        store.remove(POD)
    elif ending == "recreated":
        store.put(Pod(metadata=ObjectMeta(name="pod", namespace="n", uid="v", resource_version="11")))
    else:
        moment = datetime(2026, 11, 21, tzinfo=UTC)
        store.put(Pod(metadata=ObjectMeta(name="pod", namespace="n", uid="u", resource_version="11", deletion_timestamp=moment)))
    assert expectations.seconds_left(JOB) == 0


@pytest.mark.parametrize("ending", ["gone", "in its grace period"])
def test_taking_the_last_finalizer_is_seen_when_it_is_gone_whatever_version_the_answer_has(
    expectations: Expectations, store: Store[Pod], ending: str
) -> None:
    moment = datetime(2026, 11, 21, tzinfo=UTC)
    held = ObjectMeta(name="pod", namespace="n", uid="u", resource_version="10", deletion_timestamp=moment, finalizers=("a/b",))
    store.put(Pod(metadata=held))
    expectations.expect(JOB, [CompletedWrite(PODS, POD, "u", "10", is_released=True)])
    assert expectations.seconds_left(JOB) == 30
    if ending == "gone":
        store.remove(POD)
    else:
        store.put(Pod(metadata=ObjectMeta(name="pod", namespace="n", uid="u", resource_version="11", deletion_timestamp=moment)))
    assert expectations.seconds_left(JOB) == 0


def test_after_half_a_minute_the_key_goes_on_anyway(expectations: Expectations, clock: Clock) -> None:
    expectations.expect(JOB, [CompletedWrite(PODS, POD, "u", "12")])
    clock.now += 29
    assert expectations.seconds_left(JOB) == pytest.approx(1)
    clock.now += 1
    assert expectations.seconds_left(JOB) == 0


def test_writes_of_several_plans_add_up(expectations: Expectations, store: Store[Pod]) -> None:
    expectations.expect(JOB, [CompletedWrite(PODS, POD, "u", "12")])
    expectations.expect(JOB, [CompletedWrite(PODS, POD, "u", "14")])
    store.observed("", "13")
    assert expectations.seconds_left(JOB) > 0
    store.observed("", "14")
    assert expectations.seconds_left(JOB) == 0
