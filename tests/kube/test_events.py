"""Events: recorded without waiting, counted instead of repeated, never a flood, all sent before the end."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest

from fault_transport import FaultTransport, Refuse
from kube.conftest import Eventually
from kube.peer import Peer
from shunter.api.meta import Json
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube import events
from shunter.kube.client import Client
from shunter.kube.controllers.plan import Note, Ref
from shunter.kube.events import EventRecorder

MOMENT = datetime(2026, 11, 21, 10, 0, 0, 123456, UTC)


def note(
    message: str = "created", reason: str = "Created", name: str = "job", type: Literal["Normal", "Warning"] = "Normal"
) -> Note:
    return Note(regarding=Ref(PYTORCH_JOBS, "n", name, f"uid-{name}"), type=type, reason=reason, message=message)


async def cancelled(task: asyncio.Task[None]) -> None:
    """Returns when the task has ended."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def new_recorder(
    client: Client,
    form: events.Form = "events.k8s.io/v1",
    is_busy: Callable[[], bool] = lambda: False,
    now: Callable[[], datetime] = lambda: MOMENT,
) -> EventRecorder:
    return EventRecorder(client, "pytorchjob-controller", form=form, instance="host", is_busy=is_busy, now=now)


def stored(peer: Peer) -> list[Json]:
    return [obj for key, obj in peer.objects.items() if key[0].endswith("/events")]


async def test_an_event_says_what_who_and_when(peer: Peer, client: Client) -> None:
    recorder = new_recorder(client)
    recorder.record(note())
    await recorder.flush()
    (event,) = stored(peer)
    metadata = event.pop("metadata")
    assert metadata["namespace"] == "n"
    assert metadata["name"].startswith("job.")
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "eventTime": "2026-11-21T10:00:00.123456Z",
        "reportingController": "pytorchjob-controller",
        "reportingInstance": "host",
        "action": "Reconciling",
        "reason": "Created",
        "regarding": {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "name": "job",
            "namespace": "n",
            "uid": "uid-job",
        },
        "note": "created",
        "type": "Normal",
    }


async def test_the_core_form_has_count_first_and_last_time(peer: Peer, client: Client) -> None:
    recorder = new_recorder(client, "v1")
    for _ in range(3):
        recorder.record(note())
    await recorder.flush()
    (event,) = stored(peer)
    assert event["involvedObject"]["name"] == "job"
    assert event["source"] == {"component": "pytorchjob-controller"}
    assert (event["message"], event["count"]) == ("created", 3)
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2026-11-21T10:00:00Z"


async def test_the_same_note_again_counts_up_one_event(peer: Peer, client: Client) -> None:
    recorder = new_recorder(client)
    for _ in range(40):
        recorder.record(note())
        await recorder.flush()
    (event,) = stored(peer)
    assert event["series"] == {"count": 40, "lastObservedTime": "2026-11-21T10:00:00.123456Z"}


async def test_notes_that_differ_are_events_of_their_own(peer: Peer, client: Client) -> None:
    recorder = new_recorder(client)
    for one in (note(), note("other"), note(reason="Other"), note(name="other")):
        recorder.record(one)
    await recorder.flush()
    assert len(stored(peer)) == 4


async def test_one_object_cannot_flood_its_events_nor_hide_other_reasons(peer: Peer, client: Client) -> None:
    recorder = new_recorder(client)
    for number in range(100):
        recorder.record(note(f"created pod {number}"))
    recorder.record(note("finished", reason="Finished"))
    recorder.record(note("created pod 0", name="other"))
    await recorder.flush()
    assert len(stored(peer)) == events.BURST + 2


@pytest.mark.parametrize(("letter", "count"), [("x", 1024), ("\u8cc7", 341)], ids=["one byte", "three bytes"])
async def test_a_long_message_is_cut_to_what_the_server_takes(peer: Peer, client: Client, letter: str, count: int) -> None:
    recorder = new_recorder(client)
    recorder.record(note(letter * 5000))
    await recorder.flush()
    assert stored(peer)[0]["note"] == letter * count


async def test_an_event_that_has_expired_is_made_anew(peer: Peer, client: Client) -> None:
    recorder = new_recorder(client)
    recorder.record(note())
    await recorder.flush()
    peer.objects.clear()
    recorder.record(note())
    await recorder.flush()
    assert stored(peer) == []
    recorder.record(note())
    await recorder.flush()
    assert len(stored(peer)) == 1


async def test_a_server_that_refuses_events_disturbs_nobody(
    peer: Peer, client: Client, faults: FaultTransport, caplog: pytest.LogCaptureFixture
) -> None:
    faults.inject(Refuse(403, "Forbidden", "no events for you"), path="events")
    recorder = new_recorder(client)
    recorder.record(note())
    await recorder.flush()
    assert "was not recorded: no events for you" in caplog.text
    recorder.record(note())
    await recorder.flush()
    assert len(stored(peer)) == 1


async def test_running_sends_without_being_asked(peer: Peer, client: Client, eventually: Eventually) -> None:
    recorder = new_recorder(client)
    task = asyncio.create_task(recorder.run())
    recorder.record(note())
    await eventually(lambda: stored(peer))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_repeats_are_sent_together_after_a_while(
    peer: Peer, client: Client, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "UPDATE_SECONDS", 0.05)
    recorder = new_recorder(client)
    task = asyncio.create_task(recorder.run())
    for _ in range(10):
        recorder.record(note())
    await eventually(lambda: stored(peer) and stored(peer)[0].get("series", {}).get("count") == 10)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert sum(1 for method, path, _ in peer.requests if method == "PATCH") <= 2


async def test_events_wait_for_busy_controllers_but_not_for_ever(
    peer: Peer, client: Client, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "BUSY_POLL", 0.001)
    asked = 0
    moment = MOMENT

    def is_busy() -> bool:
        nonlocal asked
        asked += 1
        return True

    recorder = new_recorder(client, is_busy=is_busy, now=lambda: moment)
    recorder.record(note())
    task = asyncio.create_task(recorder.run())
    await eventually(lambda: asked > 3)
    assert not stored(peer)
    moment += timedelta(seconds=events.BUSY_SECONDS)
    await eventually(lambda: stored(peer))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_crowd_of_events_is_sent_slowly_and_none_is_lost(
    peer: Peer, client: Client, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Events for longer than this machine may have been up.
    monkeypatch.setattr(events, "RATE", 1e-9)
    monkeypatch.setattr(events, "AT_ONCE", 3)
    recorder = new_recorder(client)
    for number in range(10):
        recorder.record(note(name=f"job-{number}"))
    task = asyncio.create_task(recorder.run())
    await eventually(lambda: len(stored(peer)) >= 4)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert len(stored(peer)) == 4, "those saved up, and the one that is due"
    await recorder.flush()
    assert len(stored(peer)) == 10


async def test_the_more_events_wait_the_more_go_at_a_time(
    peer: Peer, client: Client, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the last event of 10,000 jobs is no later than that of 1,000. One at a time, there would be three of these ten."""
    monkeypatch.setattr(events, "RATE", 1e-9)
    monkeypatch.setattr(events, "AT_ONCE", 2)
    monkeypatch.setattr(events, "IN_TIME", 2)
    recorder = new_recorder(client)
    for number in range(10):
        recorder.record(note(name=f"job-{number}"))
    task = asyncio.create_task(recorder.run())
    await eventually(lambda: len(stored(peer)) >= 10)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_the_events_of_ten_thousand_jobs_are_not_dropped(peer: Peer, client: Client) -> None:
    recorder = new_recorder(client)
    for number in range(5 * 10_000):
        recorder.record(note(name=f"job-{number}"))
    assert recorder._dropped == 0


async def test_the_first_event_after_a_pause_lets_what_it_is_about_go_first(
    peer: Peer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 0 < events.QUIET_SECONDS <= 0.2
    monkeypatch.setattr(events, "QUIET_SECONDS", 3600)
    recorder = new_recorder(client)
    sending = asyncio.create_task(recorder.run())
    recorder.record(note())
    for _ in range(100):
        await asyncio.sleep(0)
    assert not stored(peer)
    sending.cancel()
    await recorder.flush()
    assert len(stored(peer)) == 1


@pytest.mark.parametrize(("type", "reason"), [("Warning", "Failed"), ("Normal", "ColdStart")])
async def test_what_followers_of_a_job_are_shown_goes_at_once(
    peer: Peer,
    client: Client,
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
    type: Literal["Normal", "Warning"],
    reason: str,
) -> None:
    monkeypatch.setattr(events, "QUIET_SECONDS", 3600)
    recorder = new_recorder(client)
    sending = asyncio.create_task(recorder.run())
    for number in range(2):
        recorder.record(note(f"failed {number}", type=type, reason=reason))
        await eventually(lambda number=number: len(stored(peer)) == 1 + number)  # type: ignore[misc]
    await cancelled(sending)  # whoever is still busy with what is stored would take the next note along
    sending = asyncio.create_task(recorder.run())
    recorder.record(note())
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(stored(peer)) == 2, "the next note waits as before"
    await cancelled(sending)


async def test_a_warning_ends_a_quiet_and_comes_after_what_was_recorded_before_it(
    peer: Peer, client: Client, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "QUIET_SECONDS", 3600)
    recorder = new_recorder(client)
    sending = asyncio.create_task(recorder.run())
    recorder.record(note("created"))
    for _ in range(100):
        await asyncio.sleep(0)
    recorder.record(note("running"))
    recorder.record(note("failed", type="Warning"))
    await eventually(lambda: len(stored(peer)) == 3)
    assert [event["note"] for event in stored(peer)] == ["created", "running", "failed"]
    await cancelled(sending)


async def test_too_many_notes_are_dropped_and_said(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(events, "MAX_WAITING", 3)
    recorder = new_recorder(client)
    for number in range(5):
        recorder.record(note(str(number)))
    await recorder.flush()
    assert "2 events were dropped" in caplog.text
