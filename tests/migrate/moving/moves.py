"""What tests of moves do and see in one namespace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fault_transport import Fault, FaultTransport, Refuse
from shunter.api.meta import Json
from shunter.api.resources import (
    NAMESPACES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    Resource,
)
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.cache.watch_events import Change
from shunter.kube.client import Client, connect
from shunter.kube.credentials import StaticCredentials
from shunter.kube.errors import NotFound
from shunter.kube.kubeconfig import Connection
from shunter.kube.transport import HttpTransport
from shunter.migrate.conversion.cleaning import clean
from shunter.migrate.moving import applying, comparisons, gathering, remove_v1, rolling_back, run_plan, waiting_train_jobs
from shunter.migrate.moving.applying import GateTimeouts, Outcome
from shunter.migrate.moving.backup.saving import listed
from shunter.migrate.moving.cleanup_candidates import CleanupCandidate, cleanup_candidates
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.plan import Plan
from shunter.migrate.moving.planning import PlanOptions, planned
from shunter.migrate.moving.rollback_decisions import Undo
from shunter.migrate.moving.runs.record import Run
from shunter.migrate.options import Options
from shunter.operator.overview import overview

NOW = datetime(2026, 11, 21, tzinfo=UTC)
QUICK = GateTimeouts(stopped=20.0, made=20.0)


class Screen:
    def begin(self, total: int) -> None:
        return

    def done(self, outcome: Outcome) -> None:
        return


def pytorch_job(
    name: str, namespace: str, *, suspend: bool = False, workers: int = 1, args: Sequence[str] = (), **metadata: Any
) -> Json:
    container: Json = {"name": "pytorch", "image": "trainer:1", "command": ["torchrun", "train.py", *args]}
    replica = {"restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {
            "runPolicy": {"suspend": suspend},
            "pytorchReplicaSpecs": {"Master": {"replicas": 1, **replica}, "Worker": {"replicas": workers, **replica}},
        },
    }


class Moves:
    def __init__(self, client: Client, connection: Connection, namespace: str, directory: Path) -> None:
        self.client = client
        self.namespace = namespace
        self.directory = directory
        self.connection = connection
        self.definitions = directory / "definitions"
        self.runs = directory / "runs"

    async def make_namespace(self) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        await self.client.create(NAMESPACES, body)

    async def submit(self, name: str, **options: Any) -> Json:
        job: Json = await self.client.create(PYTORCH_JOBS, pytorch_job(name, self.namespace, **options))
        return job

    async def plan(self, plan_options: PlanOptions = PlanOptions(), options: Options = Options()) -> Plan:  # noqa: B008 -- frozen
        plan_options = plan_options._replace(namespaces=(self.namespace,), journal_namespace=self.namespace)
        found = await gathering.read(self.client, plan_options.namespaces)
        cluster, unread = await gathering.cluster(self.client, "https://server", plan_options.namespaces)
        return planned(found.shared(found.batch(options)), cluster, plan_options, unread)

    async def apply(self, plan: Plan, *, client: Client | None = None, waves: Sequence[str] = ()) -> run_plan.Run:
        client = client or self.client
        with self.journal(plan, client) as journal:
            await journal.load()
            backup = self.directory / "backup"
            return await run_plan.run(
                client, plan, journal, Screen(), waves=waves, backup=backup, runs=self.runs, now=NOW, timeouts=QUICK
            )

    async def roll_back(self, plan: Plan, *, client: Client | None = None) -> list[tuple[Undo, str]]:
        client = client or self.client
        with self.journal(plan, client) as journal:
            await journal.load()
            return await rolling_back.roll_back(client, journal, plan, self.definitions, lambda undo, failure: None)

    async def clean_up(self, plan: Plan, *, client: Client | None = None, i_know: bool = False) -> list[Outcome]:
        client = client or self.client
        with self.journal(plan, client) as journal:
            await journal.load()
            steps = [
                tidying.step
                for tidying in await self.cleanup_candidates(plan, journal, i_know=i_know)
                if tidying.step is not None
            ]
            return await applying.apply(client, steps, journal, Screen(), QUICK, runs=self.runs)

    async def cleanup_candidates(self, plan: Plan, journal: Journal, *, i_know: bool = False) -> list[CleanupCandidate]:
        """What becomes of each v1 job."""
        found = await gathering.read(self.client, plan.namespaces)
        train_jobs = await listed(self.client, TRAIN_JOBS, plan.namespaces)
        runtimes = await listed(self.client, TRAINING_RUNTIMES, plan.namespaces)
        objections = waiting_train_jobs.objections(plan, found, train_jobs, runtimes, journal)
        jobs = [source.value for source in found.jobs]
        return list(cleanup_candidates(plan, jobs, train_jobs, journal.records, objections=objections, i_know=i_know))

    async def finalize(self, plan: Plan, definitions: Sequence[str], *, client: Client | None = None) -> list[Outcome]:
        """Deletes some of v1's definitions."""
        client = client or self.client
        with self.journal(plan, client) as journal:
            await journal.load()
            going = [ending for ending in await remove_v1.read(client, definitions) if ending.step is not None]
            outcomes, _ = await remove_v1.delete(client, going, journal, Screen(), self.definitions)
            return outcomes

    async def note(self, verdict: str, *, original: str, train_job: str, uid: str = "", unseen: Sequence[str] = ()) -> str:
        """Records a comparison of two runs on the TrainJob; returns why it was not recorded."""
        run = Run(kind=PYTORCH_JOBS.kind, namespace=self.namespace, name=original, uid=uid)
        successor = Run(kind=TRAIN_JOBS.kind, namespace=self.namespace, name=train_job)
        return await comparisons.record(self.client, run, successor, verdict, unseen)

    async def preview(self, plan: Plan) -> list[Undo]:
        return await rolling_back.preview(self.client, await self.read_journal(plan), plan, self.definitions)

    async def read_journal(self, plan: Plan) -> Journal:
        journal = self.journal(plan, self.client)
        await journal.load()
        return journal

    def journal(self, plan: Plan, client: Client) -> Journal:
        return Journal(self.directory, plan.id, client, plan.journal_namespace, lambda: NOW)

    @asynccontextmanager
    async def dying(self, writes: int) -> AsyncIterator[Client]:
        """A client of a process that is dead after so many writes."""
        faults = FaultTransport(HttpTransport(self.connection, user_agent="shunter-migrate"))
        faults.kill_after(writes)
        try:
            yield Client(faults, field_manager="shunter-migrate")
        finally:
            await faults.close()

    @asynccontextmanager
    async def refusing(self, write: int) -> AsyncIterator[Client]:
        """A client whose write of that number, the first being 1, is refused."""
        faults = FaultTransport(HttpTransport(self.connection, user_agent="shunter-migrate"))

        async def refuse() -> None:
            faults.inject(Refuse(403, "Forbidden", "injected"))

        faults.before_write(write, refuse)
        try:
            yield Client(faults, field_manager="shunter-migrate")
        finally:
            await faults.close()

    @asynccontextmanager
    async def counting(self) -> AsyncIterator[tuple[Client, Callable[[], int]]]:
        """A client, and how many writes it has carried out."""
        faults = FaultTransport(HttpTransport(self.connection, user_agent="shunter-migrate"))
        try:
            yield Client(faults, field_manager="shunter-migrate"), lambda: faults.writes
        finally:
            await faults.close()

    @asynccontextmanager
    async def failing(self, fault: Fault, *, path: str, times: int, method: str = "GET") -> AsyncIterator[Client]:
        """A client to which this happens so many times when it reads what is at such a path, or sends another `method` there."""
        faults = FaultTransport(HttpTransport(self.connection, user_agent="shunter-migrate"))
        faults.inject(fault, method=method, path=path, times=times)
        try:
            yield Client(faults, field_manager="shunter-migrate")
        finally:
            await faults.close()

    def acting_as_reader(self) -> AbstractAsyncContextManager[Client]:
        """A client of a user who may read the namespace, and no more."""
        return self.acting_with({"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]})

    @asynccontextmanager
    async def acting_with(self, *rules: Json) -> AsyncIterator[Client]:
        """A client of a user who has these rights in the namespace, and no more."""
        api, name = "rbac.authorization.k8s.io", "some-rights"
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": self.namespace}}
        await self.client.create(SERVICE_ACCOUNTS, account)
        metadata = {"name": name, "namespace": self.namespace}
        await self.client.create(ROLES, {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": metadata, "rules": list(rules)})
        subject = {"kind": "ServiceAccount", "name": name, "namespace": self.namespace}
        role = {"apiGroup": api, "kind": "Role", "name": name}
        binding = {"apiVersion": f"{api}/v1", "kind": "RoleBinding", "metadata": metadata, "subjects": [subject]}
        await self.client.create(ROLE_BINDINGS, {**binding, "roleRef": role})
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        answer = await self.client.create(SERVICE_ACCOUNTS, request, self.namespace, subresource="token", name=name)
        credentials = StaticCredentials([("Authorization", f"Bearer {answer['status']['token']}")])
        async with connect(replace(self.connection, credentials=credentials)) as found:
            yield found

    async def v1(self, name: str) -> Json:
        return await self.get(PYTORCH_JOBS, name)

    async def train_job(self, name: str) -> Json:
        return await self.get(TRAIN_JOBS, name)

    async def get(self, resource: Resource, name: str) -> Json:
        """The object; empty when there is none."""
        try:
            found: Json = await self.client.get(resource, name, self.namespace)
        except NotFound:
            return {}
        return {"apiVersion": resource.api_version, "kind": resource.kind, **found}

    async def state(self) -> dict[str, Json]:
        """What users wrote, or we did for them, of all jobs and runtimes: comparable between namespaces."""
        found: dict[str, Json] = {}
        for resource in (PYTORCH_JOBS, TRAIN_JOBS, TRAINING_RUNTIMES):
            for obj in (await self.client.list(resource, self.namespace)).items:
                body = clean(obj)
                body["metadata"] = {
                    **body["metadata"],
                    "namespace": "",
                    "annotations": sorted(body["metadata"].get("annotations") or {}),
                }
                found[f"{resource.kind} {obj['metadata']['name']}"] = {**body, "apiVersion": "", "kind": ""}
        return found

    async def uids(self) -> dict[str, str]:
        found = {}
        for resource in (PYTORCH_JOBS, TRAIN_JOBS, TRAINING_RUNTIMES):
            for obj in (await self.client.list(resource, self.namespace)).items:
                found[f"{resource.kind} {obj['metadata']['name']}"] = obj["metadata"]["uid"]
        return found

    async def finish(self, resource: Resource, name: str, type: str) -> None:
        """Says that a job has come to its end."""
        condition = {
            "type": type,
            "status": "True",
            "reason": "Test",
            "message": "",
            "lastTransitionTime": "2026-11-21T00:00:00Z",
        }
        await self.client.patch_status(resource, name, self.namespace, {"status": {"conditions": [condition]}})

    async def pods(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in (await self.client.list(PODS, self.namespace)).items]

    async def until_state(self, name: str, state: str, *, seconds: float = 60.0) -> None:
        """Returns when the operator has given a v1 job this state. Many lives are led at once, so it may take its time."""
        named, seen = f"metadata.name={name}", ["none"]
        try:
            async with asyncio.timeout(seconds):
                async for change in self.client.watch(
                    PYTORCH_JOBS, self.namespace, field_selector=named, send_initial_events=True, view=dict
                ):
                    if isinstance(change, Change):
                        seen.append(overview({**change.object, "kind": "PyTorchJob"}).state)
                        if seen[-1] == state:
                            return
        except TimeoutError as error:
            raise TimeoutError(f"{name} in {self.namespace}: {' -> '.join(seen)}, not {state} in {seconds:g} s") from error


def shape(journal: Journal, plan: Plan, namespace: str) -> dict[str, str]:
    """The last phase of each step, comparable between namespaces."""
    return {record.step.replace(namespace, "NS").replace(plan.id, "ID"): record.phase for record in journal.records}
