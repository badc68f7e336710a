"""Links to pages about a job elsewhere: its MLflow run, TensorBoard, Weights & Biases. Pure.

Their addresses are untrusted text from a cluster. Only http and https addresses in the annotations and variables named here
become links, the page shows the host of each, and the server never fetches them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, urlsplit

from shunter.api.core import variables_of
from shunter.api.meta import Json, annotations_of
from shunter.jobs.logs.visible_text import visible
from shunter.launch.tracking import URI, browser_address, run_page, tracked_run
from shunter.operator.overview import is_v2, replica_specs
from shunter.page.wire import Link

ANNOTATIONS: Mapping[str, str] = {
    "shunter.dev/tensorboard-url": "TensorBoard",
    "shunter.dev/tracking-url": "Training run",
    "shunter.dev/dashboard-url": "Dashboard",
}
"""Annotations of a job whose value is an address, with the title of the link."""
MOST = 8
LONGEST = 2048
_PLAIN = re.compile(r"[!#-;=?-\[\]_a-z~]+")
"""Printable ASCII without blanks, quotes, angle brackets, backslash, caret, backquote, braces and bar."""
_WANDB = "https://wandb.ai"


def links(job: Json) -> tuple[Link, ...]:
    """At most `MOST`, each address once."""
    found: dict[str, Link] = {}
    for title, address in (*_of_annotations(job), *_of_variables(job)):
        if (link := link_to(title, address)) is not None:
            found.setdefault(link.url, link)
    return tuple(found.values())[:MOST]


def link_to(title: str, address: str) -> Link | None:
    """None unless it is an http or https address with a host, without user and password, and only of characters of a URL."""
    if len(address) > LONGEST or _PLAIN.fullmatch(address) is None:
        return None
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or "%" in parts.netloc:
        return None
    return Link(title=visible(title), url=address, host=host if port is None else f"{host}:{port}")


def _of_annotations(job: Json) -> Iterator[tuple[str, str]]:
    annotations = annotations_of(job)
    for key, title in ANNOTATIONS.items():
        if isinstance(value := annotations.get(key), str):
            yield title, value


def _of_variables(job: Json) -> Iterator[tuple[str, str]]:
    values = _variables(job)
    run = tracked_run(job) if is_v2(job) else None
    if run is not None and (address := run_page(run)):
        yield "MLflow run", address
    elif values.get(URI):
        yield "MLflow", browser_address(values[URI])
    if (entity := values.get("WANDB_ENTITY")) and (project := values.get("WANDB_PROJECT")):
        server = (values.get("WANDB_BASE_URL") or _WANDB).rstrip("/")
        run_id = values.get("WANDB_RUN_ID", "")
        inside = f"/runs/{quote(run_id, safe='')}" if run_id else ""
        yield "Weights & Biases", f"{server}/{quote(entity, safe='')}/{quote(project, safe='')}{inside}"


def _variables(job: Json) -> dict[str, str]:
    """The variables of the job's containers, as specified in the job itself; of several containers that set one the first."""
    if is_v2(job):
        containers = [job["spec"].get("trainer") or {}]
    else:
        templates = [spec.get("template") or {} for spec in replica_specs(job).values()] or [job["spec"].get("template") or {}]
        containers = [one for template in templates for one in (template.get("spec") or {}).get("containers") or ()]
    found: dict[str, str] = {}
    for container in reversed(containers):
        found |= variables_of(container)
    return found
