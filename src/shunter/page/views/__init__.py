"""The views of the page by the name that stands in `/api/live?view=NAME`; view.py says what one is."""

from __future__ import annotations

from collections.abc import Mapping

from shunter.page.views.jobs import open_jobs
from shunter.page.views.view import OpenView

VIEWS: Mapping[str, OpenView] = {
    "jobs": open_jobs,
}
