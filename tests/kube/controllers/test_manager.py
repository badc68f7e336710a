"""Managers: controllers see what changed, survive their own bugs and the server's, and stop in order."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, NamedTuple

import aiohttp
import pytest

from fault_transport import Delay, FaultTransport, LoseAnswer, RecordingTransport, Refuse
from kube.conftest import Eventually
from kube.peer import Peer
from shunter.api.core import ConfigMap, Pod
from shunter.api.meta import controller_reference
from shunter.api.resources import CONFIG_MAPS, PODS
from shunter.errors import EnvironmentProblem
from shunter.kube.cache.store import Store, by_controller_uid
from shunter.kube.client import Client
from shunter.kube.controllers.leader import LeaderOptions
from shunter.kube.controllers.manager import LeadershipLost, Manager
from shunter.kube.controllers.plan import Create, Failure, Key, Note, Plan, Ref, StatusWrite
from shunter.kube.measured_transport import CountingTransport

PODS_AT, CONFIG_MAPS_AT = "/api/v1/pods", "/api/v1/configmaps"


class Seen(NamedTuple):
    pod: Pod
    children: tuple[ConfigMap, ...]


class Children:
    """Gives every pod one ConfigMap under a generated name, and records so in the pod's status.

    The generated name makes a reconcile on stale caches visible: it creates a second one.
    """

    def __init__(self, pods: Store[Pod], children: Store[ConfigMap]) -> None:
        self.pods = pods
        self.children = children
        self.bug = ""
        self.failures: list[Failure] = []

    def observe(self, key: Key) -> Seen | None:
        pod = self.pods.get(key)
        return Seen(pod, self.children.by_index("owner", pod.metadata.uid)) if pod else None

    def plan(self, observed: Seen, now: datetime) -> Plan:
        metadata = observed.pod.metadata
        if metadata.name == self.bug:
            raise RuntimeError("a bug")
        ref = Ref.of(PODS, metadata)
        body = {
            "metadata": {
                "generateName": f"{metadata.name}-",
                "namespace": metadata.namespace,
                "ownerReferences": [controller_reference("v1", "Pod", metadata.name, metadata.uid)],
            }
        }
        return Plan(
            writes=() if observed.children else (Create(resource=CONFIG_MAPS, body=body),),
            status=StatusWrite(ref=ref, observed={"phase": observed.pod.status.phase}, desired={"phase": "Running"}),
        )

    def plan_failure(self, observed: Seen, failure: Failure, now: datetime) -> Plan:
        self.failures.append(failure)
        metadata = observed.pod.metadata
        note = Note(regarding=Ref(PODS, metadata.namespace, metadata.name), type="Warning", reason="R", message=failure.message)
        return Plan(events=(note,))


def pod(name: str, namespace: str = "n") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "status": {"phase": "Pending"}}


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[asyncio.Task[None]]:
    stop = asyncio.Event()
    task = asyncio.create_task(manager.run(stop))
    try:
        yield task
    finally:
        stop.set()
        await asyncio.wait_for(asyncio.gather(task, return_exceptions=True), 20)


def with_children(manager: Manager, **options: Any) -> Children:
    pods = manager.informer(PODS, Pod)
    children = manager.informer(CONFIG_MAPS, ConfigMap, indexes={"owner": by_controller_uid})
    reconciler = Children(pods.store, children.store)
    manager.controller("children", reconciler, primary=pods, owned=[children], **options)
    return reconciler


def count(peer: Peer, collection: str) -> int:
    return sum(1 for key in peer.objects if key[0] == collection)


def are_running(peer: Peer) -> bool:
    phases = [obj["status"]["phase"] for key, obj in peer.objects.items() if key[0] == PODS_AT]
    return bool(phases) and set(phases) == {"Running"}


async def test_every_object_gets_what_it_should_have_exactly_once(peer: Peer, client: Client, eventually: Eventually) -> None:
    for number in range(30):
        await peer.put(PODS_AT, pod(f"p{number}"))
    manager = Manager(client, component="test", owns_process=False)
    with_children(manager)
    async with running(manager):
        await peer.put(PODS_AT, pod("late"))
        await eventually(lambda: are_running(peer) and count(peer, CONFIG_MAPS_AT) == 31)


async def test_a_namespace_whose_requests_take_long_does_not_hold_up_others(
    peer: Peer, client: Client, faults: FaultTransport, eventually: Eventually
) -> None:
    faults.inject(Delay(3600), method="POST", path="/namespaces/slow/", times=1000)
    for number in range(20):
        await peer.put(PODS_AT, pod(f"p{number}", "slow"))
    manager = Manager(client, component="test", owns_process=False, stop_seconds=0.1)
    with_children(manager)
    async with running(manager):
        await eventually(lambda: manager._controllers[0].controller.queue.oldest_work()[0])
        await peer.put(PODS_AT, pod("a", "n"))
        await eventually(lambda: count(peer, CONFIG_MAPS_AT) == 1)


async def test_a_child_that_somebody_deletes_comes_back(peer: Peer, client: Client, eventually: Eventually) -> None:
    await peer.put(PODS_AT, pod("a"))
    manager = Manager(client, component="test", owns_process=False)
    with_children(manager)
    async with running(manager):
        await eventually(lambda: count(peer, CONFIG_MAPS_AT) == 1)
        (key,) = [key for key in peer.objects if key[0] == CONFIG_MAPS_AT]
        await peer.remove(*key)
        await eventually(lambda: count(peer, CONFIG_MAPS_AT) == 1)


async def test_a_stale_cache_never_makes_a_second_child(peer: Peer, client: Client, eventually: Eventually) -> None:
    """The events of children are held back while the pod goes on changing."""
    manager = Manager(client, component="test", owns_process=False)
    with_children(manager)
    async with running(manager):
        await eventually(lambda: not manager._why_not_synced())
        peer.held.add(CONFIG_MAPS_AT)
        await peer.put(PODS_AT, pod("a"))
        await eventually(lambda: are_running(peer))
        for number in range(20):
            await peer.put(PODS_AT, {**peer.objects[PODS_AT, "n", "a"], "spec": {"hostname": str(number)}})
            await asyncio.sleep(0.01)
        assert count(peer, CONFIG_MAPS_AT) == 1
        await peer.release()
        (child,) = [key for key in peer.objects if key[0] == CONFIG_MAPS_AT]
        await eventually(lambda: manager.informer(CONFIG_MAPS, ConfigMap).store.get(Key(*child[1:])))
    assert count(peer, CONFIG_MAPS_AT) == 1


async def test_a_bug_in_one_objects_reconcile_is_logged_and_stops_nobody_else(
    peer: Peer, client: Client, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("bad", "good"):
        await peer.put(PODS_AT, pod(name))
    manager = Manager(client, component="test", owns_process=False)
    reconciler = with_children(manager, workers=1)
    reconciler.bug = "bad"
    async with running(manager):
        await eventually(lambda: peer.objects[PODS_AT, "n", "good"]["status"]["phase"] == "Running")
        assert "internal error while reconciling n/bad" in caplog.text
        reconciler.bug = ""
        await eventually(lambda: are_running(peer))


async def test_a_refusal_is_told_and_tried_again(
    peer: Peer, client: Client, faults: FaultTransport, eventually: Eventually
) -> None:
    await peer.put(PODS_AT, pod("a"))
    faults.inject(Refuse(403, "Forbidden", "exceeded quota"), method="POST", path="configmaps", times=3)
    manager = Manager(client, component="test", owns_process=False)
    reconciler = with_children(manager)
    async with running(manager):
        await eventually(lambda: are_running(peer))
    assert [failure.message for failure in reconciler.failures] == ["exceeded quota"] * 3
    events = [obj for key, obj in peer.objects.items() if key[0].endswith("/events")]
    assert [(event["note"], event["series"]["count"]) for event in events] == [("exceeded quota", 3)]


@pytest.mark.parametrize("fault", [LoseAnswer(), Refuse(503), Refuse(409, "Conflict")], ids=str)
async def test_a_bad_moment_is_not_told_and_tried_again(
    peer: Peer, client: Client, faults: FaultTransport, eventually: Eventually, fault: LoseAnswer | Refuse
) -> None:
    await peer.put(PODS_AT, pod("a"))
    faults.inject(fault, method="PATCH", path="pods", times=3)
    manager = Manager(client, component="test", owns_process=False)
    reconciler = with_children(manager)
    async with running(manager):
        await eventually(lambda: are_running(peer))
    assert reconciler.failures == []
    assert count(peer, CONFIG_MAPS_AT) == 1


async def test_a_controller_whose_kind_is_missing_does_not_hold_up_the_others(
    peer: Peer, client: Client, eventually: Eventually
) -> None:
    peer.served = {PODS_AT, CONFIG_MAPS_AT, "/apis/events.k8s.io/v1/events"}
    await peer.put(PODS_AT, pod("a"))
    manager = Manager(client, component="test", owns_process=False, health_probe_bind_address="127.0.0.1:0")
    with_children(manager)
    missing = manager.informer(PODS._replace(group="example.com", plural="things"), Pod)
    manager.controller("waits", Children(missing.store, Store()), primary=missing)
    async with running(manager):
        await eventually(lambda: are_running(peer))
        await eventually(lambda: missing.problem)
        async with aiohttp.ClientSession() as session:
            for path in ("healthz", "readyz"):
                async with session.get(f"http://{manager._servers[0].address}/{path}") as answer:
                    assert (answer.status, await answer.text()) == (200, "ok")


async def test_readyz_names_what_is_waited_for(
    peer: Peer, client: Client, faults: FaultTransport, eventually: Eventually
) -> None:
    faults.inject(Refuse(403, "Forbidden", "pods is forbidden"), path="pods", times=1000)
    manager = Manager(client, component="test", owns_process=False, health_probe_bind_address="127.0.0.1:0")
    with_children(manager)
    manager.add_ready_check("other", lambda: "")
    config_maps = manager.informer(CONFIG_MAPS, ConfigMap)

    async def readiness() -> tuple[int, str]:
        async with session.get(f"http://{manager._servers[0].address}/readyz?verbose") as answer:
            return answer.status, await answer.text()

    async with running(manager), aiohttp.ClientSession() as session:
        await eventually(lambda: manager._servers[0].address.port and config_maps.is_synced)
        assert await readiness() == (500, "[-]informers failed: waiting for pods\n[+]other ok\n")
        faults.heal()
        async with asyncio.timeout(5):
            while await readiness() != (200, "[+]informers ok\n[+]other ok\n/readyz check passed\n"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def test_metrics_have_controller_runtimes_names(peer: Peer, client: Client, eventually: Eventually) -> None:
    await peer.put(PODS_AT, pod("a"))
    manager = Manager(client, component="test", owns_process=False, metrics_bind_address="127.0.0.1:0")
    with_children(manager)
    async with running(manager):
        await eventually(lambda: are_running(peer))
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://{manager._servers[0].address}/metrics") as answer,
        ):
            text = await answer.text()
    assert 'controller_runtime_reconcile_total{controller="children",result="success"}' in text
    assert 'workqueue_adds_total{controller="children",name="children"} 0.0' not in text
    assert 'workqueue_queue_duration_seconds_count{controller="children",name="children"} 0.0' not in text
    assert 'workqueue_adds_total{controller="children",name="children"}' in text
    assert 'workqueue_depth{controller="children",name="children"} 0.0' in text
    assert 'controller_runtime_max_concurrent_reconciles{controller="children"} 5.0' in text


async def test_the_requests_of_controllers_are_counted_and_limited_with_all_others(
    peer: Peer, client: Client, eventually: Eventually
) -> None:
    await peer.put(PODS_AT, pod("a"))
    counted: Counter[tuple[str, str]] = Counter()
    manager = Manager(client, component="test", owns_process=False)
    manager.send_through(lambda inner: CountingTransport(inner, lambda method, code: counted.update([(method, code)])))
    with_children(manager)
    async with running(manager):
        await eventually(lambda: are_running(peer))
    assert counted["POST", "201"] == 1, "its child"
    assert counted["PATCH", "200"] == 1, "its status"
    assert counted["GET", "200"], "the watches"


async def test_informers_of_the_same_objects_are_one(client: Client) -> None:
    manager = Manager(client, component="test", owns_process=False)
    one = manager.informer(PODS, Pod, indexes={"owner": by_controller_uid})
    two = manager.informer(PODS, Pod, indexes={"node": lambda obj: (obj.spec.node_name,)})
    other = manager.informer(PODS, Pod, label_selector="a=b")
    assert one is two
    assert one is not other
    assert one.store.by_index("owner", "x") == one.store.by_index("node", "x") == ()


async def test_a_reconcile_under_way_ends_before_the_process_does(
    peer: Peer, client: Client, recorded: RecordingTransport, eventually: Eventually
) -> None:
    for number in range(50):
        await peer.put(PODS_AT, pod(f"p{number}"))
    manager = Manager(client, component="test", owns_process=False)
    with_children(manager)
    async with running(manager):
        await eventually(lambda: count(peer, CONFIG_MAPS_AT) > 3)
    assert all(write.status for write in recorded.writes)
    owners = {obj["metadata"]["ownerReferences"][0]["uid"] for key, obj in peer.objects.items() if key[0] == CONFIG_MAPS_AT}
    done = {obj["metadata"]["uid"] for obj in peer.objects.values() if obj.get("status", {}).get("phase") == "Running"}
    assert owners == done


async def test_a_failing_background_task_ends_the_process(client: Client) -> None:
    async def fail() -> None:
        raise EnvironmentProblem("port taken")

    manager = Manager(client, component="test", owns_process=False)
    manager.background("webhooks", fail)
    with pytest.raises(EnvironmentProblem, match="port taken"):
        await asyncio.wait_for(manager.run(), 5)


def options(identity: str, *, lease_duration: float = 15.0, renew_deadline: float = 10.0) -> LeaderOptions:
    """Who ends well gives the lease back, so nobody waits for these seconds."""
    return LeaderOptions(
        name="test",
        namespace="n",
        identity=identity,
        lease_duration=lease_duration,
        renew_deadline=renew_deadline,
        retry_period=0.05,
    )


async def test_the_second_replica_writes_only_when_the_first_has_stopped(
    peer: Peer, client: Client, eventually: Eventually
) -> None:
    await peer.put(PODS_AT, pod("a"))
    first, second = (Manager(client, component="test", owns_process=False, leader=options(name)) for name in ("one", "two"))
    with_children(first)
    with_children(second)
    lease = "/apis/coordination.k8s.io/v1/leases", "n", "test"
    async with running(second) as waiting:
        await eventually(lambda: lease in peer.objects)
        assert peer.objects[lease]["spec"]["holderIdentity"] == "two"
        async with running(first):
            await eventually(lambda: are_running(peer))
            assert peer.objects[lease]["spec"]["holderIdentity"] == "two"
            waiting.cancel()
            await eventually(lambda: peer.objects[lease]["spec"]["holderIdentity"] == "one")
            await peer.put(PODS_AT, pod("b"))
            await eventually(lambda: are_running(peer))
    assert peer.objects[lease]["spec"]["holderIdentity"] == ""
    assert count(peer, CONFIG_MAPS_AT) == 2


async def test_a_replica_that_does_not_lead_reports_no_queue(peer: Peer, client: Client, eventually: Eventually) -> None:
    await peer.put(PODS_AT, pod("a"))
    leads = Manager(client, component="test", owns_process=False, leader=options("one"))
    with_children(leads)
    follows = Manager(client, component="test", owns_process=False, leader=options("two"), metrics_bind_address="127.0.0.1:0")
    with_children(follows)
    queue = follows._controllers[0].controller.queue
    async with running(leads):
        await eventually(lambda: are_running(peer))
        async with running(follows):
            await eventually(lambda: len(queue) == 1)
            assert follows.metrics is not None
            lines = follows.metrics.answer().text.splitlines()
            labels = '{controller="children",name="children"}'
            assert f"workqueue_depth{labels} 0.0" in lines
            assert f"shunter_workqueue_oldest_seconds{labels} 0.0" in lines


async def test_who_cannot_renew_stops_writing_before_another_may_lead(
    peer: Peer, client: Client, faults: FaultTransport, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    manager = Manager(client, component="test", owns_process=False, leader=options("one", lease_duration=1.0, renew_deadline=0.6))
    with_children(manager)
    async with running(manager) as task:
        await eventually(lambda: manager._election and manager._election.is_leader)
        faults.inject(Refuse(500), path="leases", times=10**6)
        with pytest.raises(LeadershipLost), caplog.at_level(logging.CRITICAL):
            await asyncio.wait_for(asyncio.shield(task), 5)
        assert not manager._may_write()


async def test_a_taken_port_is_said_with_a_remedy(client: Client, peer: Peer) -> None:
    port = peer.url.rpartition(":")[2]
    with pytest.raises(EnvironmentProblem, match=f"Cannot listen on 127.0.0.1:{port}: .* Choose another port"):
        await Manager(client, component="test", owns_process=False, health_probe_bind_address=f"127.0.0.1:{port}").run()
