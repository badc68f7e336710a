"""One observer of the control plane a test. Modules may run side by side."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from faults.disturbance import Undisturbed, undisturbed
from faults.history import History
from faults.operators import Clock
from faults.planes import Plane, connection
from faults.scenarios import Scenario, Stage
from shunter.kube.kubeconfig import Connection


@pytest.fixture
def server(plane: Plane) -> Connection:
    return connection(plane)


@pytest.fixture
async def history(server: Connection) -> AsyncIterator[History]:
    async with History(server) as history:
        yield history


NewStage = Callable[[], Awaitable[Stage]]


@pytest.fixture
def new_stage(plane: Plane, history: History) -> NewStage:
    """Makes namespaces, each with a clock of its own."""

    async def make() -> Stage:
        stage = Stage(history, f"f-{uuid.uuid4().hex[:8]}", Clock())
        await stage.make_namespace(has_service_accounts=plane.kind == "real")
        return stage

    return make


@pytest.fixture
async def stage(new_stage: NewStage) -> Stage:
    return await new_stage()


Reference = Callable[[Scenario], Awaitable[Undisturbed]]


@pytest.fixture(scope="session")
def known_references() -> dict[str, Undisturbed]:
    return {}


@pytest.fixture
def reference(server: Connection, history: History, new_stage: NewStage, known_references: dict[str, Undisturbed]) -> Reference:
    """What a life looks like without faults, led once."""

    async def get(scenario: Scenario) -> Undisturbed:
        if scenario.name not in known_references:
            known_references[scenario.name] = await undisturbed(server, history, await new_stage(), scenario)
        return known_references[scenario.name]

    return get


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/faults" in item.path.as_posix():
            item.add_marker(pytest.mark.e2e)
