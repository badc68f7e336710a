"""What a view is: the objects that it watches, what else it reads, and a pure function from these to rows.

A view is created for the parameters of a stream and kept while a stream is open. The session runs it: it lists and watches with
the viewer's credentials, keeps of each object what `Watch.keep` returns, and calls `rows` after changes, at once and then at most
every 50 ms. `rows` returns all rows each time; those that are equal to the ones sent before are not sent again. It must be cheap:
do the work in `keep`, which is called once per change of an object.

A complete view, of the nodes of a cluster:

    class Nodes:
        watches = (
            Watch("nodes", NODES, keep=node_row, collections=("nodes",), consequence="Nodes are not shown."),
        )
        readings = (
            Reading("usage", read=usage, seconds=15, resources=(NODE_METRICS,), consequence="The usage of nodes is not shown."),
        )

        def rows(self, observed: Observed, now: float) -> Rows:
            used = observed.readings.get("usage", {})
            return {"nodes": [with_usage(row, used) for row in observed.objects["nodes"].values()]}

    def node_row(node: Json) -> NodeRow: ...                            # pure
    async def usage(client: Client, observed: Observed) -> Any: ...     # reads; its result is in observed.readings

    def open_nodes(viewer: Viewer, parameters: Parameters) -> View:     # named in tables.VIEWS
        return Nodes()

This serves `GET /api/live?view=nodes`. A view of one object takes its name from the parameters, which have been checked before
(`addresses.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.kube.client import Client
from shunter.page.wire import Row

Rows = Mapping[str, Sequence[Row]]
"""By collection; all of them each time. New rows are sent in this order."""


class Parameters(NamedTuple):
    """The parameters of a stream or call, checked: DNS names, and a kind that the page shows."""

    namespaces: tuple[str, ...] = ()
    """Empty: all that the viewer may list."""
    kind: str = ""
    name: str = ""

    @property
    def namespace(self) -> str:
        """The only, or first, namespace; empty if there is none."""
        return self.namespaces[0] if self.namespaces else ""


class PageOptions(NamedTuple):
    """Options of a page, the same for all its viewers."""

    cluster: str
    """Name of the context, or `embedded cluster`."""
    is_embedded: bool = False
    is_read_only: bool = False
    namespaces: tuple[str, ...] = ()
    """Namespaces to list if a viewer may not list all."""
    options: str = ""
    """Options that shown shunter commands need to reach the cluster, such as ` --context prod`; begins with a blank."""
    kubectl: str = "kubectl"
    """How shown kubectl commands begin: `kubectl --context prod`, or `shunter kubectl`."""
    home: str = "/"
    """The page after login."""
    plan: Path | None = None
    """A migration plan."""
    idle_seconds: float = 12 * 3600.0
    """A session without a request for so long ends: the viewer has to log in again."""


class Viewer(NamedTuple):
    """A viewer of the page. `client` has the viewer's credentials, and is the only way to the cluster."""

    client: Client
    user: str
    page: PageOptions


class Observed(NamedTuple):
    """What a view's watches and readings have returned so far."""

    objects: Mapping[str, Mapping[str, Any]]
    """By the name of the watch, then by the uid of the object: what `keep` returned."""
    readings: Mapping[str, Any]
    """By the name of the reading: its last result; absent until there is one."""
    refused: frozenset[str] = frozenset()
    """Names of the watches that the viewer may not list in some or all namespaces: their objects are unknown, not absent."""
    listed: Mapping[str, Collection[str]] = MappingProxyType({})
    """By the name of the watch: the namespaces of which it has objects; an empty name is all of them."""


class Watch(NamedTuple):
    """A collection that is listed and watched."""

    name: str
    resource: Resource
    keep: Callable[[Json], Any]
    """Returns the part of an object (with kind and apiVersion) that rows are made from; None: the object is not shown. Pure."""
    collections: tuple[str, ...]
    """Collections of rows that are out of date while the watch is broken."""
    consequence: str
    """What is missing on the page if the viewer may not list it, as a sentence."""
    namespace: str = ""
    """Empty: the namespaces that the page shows."""
    label_selector: str = ""
    field_selector: str = ""
    is_of_all: bool = False
    """It always covers all namespaces, whichever the page shows: figures from a part of its objects would be wrong."""
    is_one_of_several: bool = False
    """It is one of several kinds of jobs: while it cannot be listed, rows of the others are shown, marked as out of date."""
    is_subject: bool = False
    """Its object is the subject of the view: without it nothing is shown."""


class Reading(NamedTuple):
    """Something that cannot be watched, and is read repeatedly."""

    name: str
    read: Callable[[Client, Observed], Awaitable[Any]]
    """Returns the same object as before if nothing has changed: then no rows are made. May raise ApiError: the last result stays,
    and is shown as out of date if the next call raises as well. After any other exception it is shown as out of date at once,
    because of an internal error."""
    seconds: float
    """Between the end of one call and the next."""
    resources: tuple[Resource, ...] = ()
    """The resources that it lists, or gets if they are subresources; if the viewer may not, the page shows the consequence."""
    consequence: str = ""
    """As in `Watch`."""
    settle: float | None = None
    """It is read again so many seconds after a change of a watched object; None: changes do not matter."""
    is_of_all: bool = False
    """As in `Watch`."""
    no_answer: str = "the cluster does not respond"
    """What is said if it gets no answer."""


class View(Protocol):
    """A view, as described above."""

    @property
    def watches(self) -> Sequence[Watch]:
        """Read once, when the view starts: they cannot change later."""

    @property
    def readings(self) -> Sequence[Reading]:
        """Each is read for the first time once the watches have been answered."""

    def rows(self, observed: Observed, now: float) -> Rows:
        """All rows of all collections of the view. `now` is seconds since 1970."""


OpenView = Callable[[Viewer, Parameters], View]
"""Returns a view. Raises InputError for parameters that the view does not support."""
