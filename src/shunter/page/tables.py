"""The views of the page, by their name in `/api/live?view=NAME`, and the functions of its other routes.

Each is given as MODULE:NAME and imported when it is first used, so that the page starts sooner.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from shunter.page.calls import Calls
from shunter.page.views.view import OpenView

VIEWS: Mapping[str, str] = {
    "jobs": "shunter.page.views.jobs:open_jobs",
    "job": "shunter.page.views.job:open_job",
    "cluster": "shunter.page.views.cluster:open_cluster",
    "migration": "shunter.page.views.migration:open_migration",
}
"""Functions of the type `OpenView` (views/view.py)."""
CALLS = "shunter.page.answers:CALLS"
"""A value of `Calls`."""


def view_named(name: str) -> OpenView | None:
    """The view of this name; None if there is none."""
    found: OpenView | None = _imported(VIEWS[name]) if name in VIEWS else None
    return found


def all_calls() -> Calls:
    """The functions of the other routes."""
    found: Calls = _imported(CALLS)
    return found


def shown_kinds() -> list[str]:
    """The kinds of jobs that the page shows."""
    return sorted(resource.kind for resource in _imported("shunter.operator.overview:SHOWN_RESOURCES"))


def _imported(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
