"""Every kind that the embedded cluster serves is acted on, or is inert for a reason that is given."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

from shunter.api.resources import Resource
from shunter.cluster import controllers
from shunter.cluster.apiserver import builtin
from shunter.kube.client import Client
from shunter.kube.controllers.manager import Manager

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))
import embedded_page

SERVED = {f"{kind.resource.api_version} {kind.resource.kind}": kind.resource for kind in builtin.kinds()}
ENTRIES: list[dict[str, Any]] = embedded_page.entries()


def module(name: str) -> str:
    """The whole name of a module of the cluster; those of the API server go without its name."""
    return (
        f"shunter.cluster.{name}"
        if name.startswith(("controllers.", "node.", "policy_types."))
        else f"shunter.cluster.apiserver.{name}"
    )


def test_the_table_names_each_served_kind_once() -> None:
    assert sorted(entry["kind"] for entry in ENTRIES) == sorted(SERVED)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["kind"])
def test_it_is_acted_on_or_there_is_a_reason(entry: dict[str, Any]) -> None:
    """A module acts on a kind when it has its Resource, or asks for it by its name."""
    resource: Resource = SERVED[entry["kind"]]
    assert ("inert" in entry) != ("by" in entry)
    assert set(entry) <= {"kind", "by", "does", "inert", "differs"}
    for text in (entry.get("inert"), entry.get("differs")):
        assert text is None or text.endswith("."), "reasons are sentences"
    for name in entry.get("by", ()):
        acting = importlib.import_module(module(name))
        is_named = f'"{resource.plural}"' in inspect.getsource(acting)
        assert is_named or resource in vars(acting).values(), f"{name} does not know {resource.plural}"


def test_what_controllers_act_on_is_watched_by_them(monkeypatch: pytest.MonkeyPatch) -> None:
    watched: set[Resource] = set()
    informer = Manager.informer

    def recorded(self: Manager, resource: Resource, *args: Any, **rest: Any) -> Any:
        watched.add(resource)
        return informer(self, resource, *args, **rest)

    monkeypatch.setattr(Manager, "informer", recorded)
    manager = Manager(Client(None), component="test")  # type: ignore[arg-type]
    controllers.register_all(manager, manager.client, volumes=Path("/nowhere"))
    controllers.register_scheduler(manager, strict_resources=True)
    controllers.register_autoscaler(manager, manager.client, period=15)
    claimed = {SERVED[entry["kind"]] for entry in ENTRIES if any(name.startswith("controllers.") for name in entry.get("by", ()))}
    assert claimed <= watched, f"nothing watches {claimed - watched}"
