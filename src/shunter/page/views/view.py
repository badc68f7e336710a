"""What a view is: the objects that it watches, what else it reads, and a pure function from these to rows.

A view is made for each stream's parameters and kept for as long as somebody looks. The session runs it: it lists and watches with
the viewer's credentials, keeps of each object what `Watch.keep` returns, and calls `rows` after changes, at once and then at most
every 50 ms. Rows that are equal to those sent before are not sent again, so `rows` returns all of them each time. It must be
cheap: project in `keep`, which is called once for a change of an object, and only put together in `rows`.

A whole view, of the nodes of a cluster:

    class Nodes:
        watches = (
            Watch("nodes", NODES, keep=node_row, collections=("nodes",), consequence="Nodes are not shown."),
        )
        readings = (
            Reading("usage", read=usage, seconds=15, resources=(NODE_METRICS,), consequence="What nodes use is not shown."),
        )

        def rows(self, observed: Observed, now: float) -> Rows:
            used = observed.readings.get("usage", {})
            return {"nodes": [with_usage(row, used) for row in observed.objects["nodes"].values()]}

    def node_row(node: Json) -> NodeRow: ...                            # pure
    async def usage(client: Client, observed: Observed) -> Any: ...     # reads; its result is in observed.readings

    def open_nodes(viewer: Viewer, parameters: Parameters) -> View:     # named in tables.VIEWS
        return Nodes()

That makes it `GET /api/live?view=nodes`. A view of one thing takes its name from the parameters; they are checked to be names
before they come here.
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
"""By collection; all of them each time. Their order is the order in which new ones are sent."""


class Parameters(NamedTuple):
    """What stands in the address of a stream or call. Each is a DNS name, or the name of a kind that we show."""

    namespaces: tuple[str, ...] = ()
    """Empty: all that the viewer may see."""
    kind: str = ""
    name: str = ""

    @property
    def namespace(self) -> str:
        """For what is in one namespace."""
        return self.namespaces[0] if self.namespaces else ""


class PageOptions(NamedTuple):
    """What is the same for all viewers of a page."""

    cluster: str
    """Name of the context, or `embedded cluster`."""
    is_embedded: bool = False
    is_read_only: bool = False
    namespaces: tuple[str, ...] = ()
    """To ask for where a viewer may not list all."""
    options: str = ""
    """What the page's commands of shunter need to reach the cluster, such as ` --context prod`; begins with a blank."""
    kubectl: str = "kubectl"
    """How its commands of kubectl begin: `kubectl --context prod`, or `shunter kubectl`."""
    home: str = "/"
    """Where a login leads."""
    plan: Path | None = None
    """A migration plan."""
    idle_seconds: float = 12 * 3600.0
    """After so long without a request a session is forgotten: who it was logs in again."""


class Viewer(NamedTuple):
    """Who looks at which page. `client` asks with the viewer's credentials; there is no other one."""

    client: Client
    user: str
    page: PageOptions


class Observed(NamedTuple):
    """What a view's watches and readings have brought so far."""

    objects: Mapping[str, Mapping[str, Any]]
    """By the name of the watch, then by the uid of the object: what `keep` returned."""
    readings: Mapping[str, Any]
    """By the name of the reading: its last result; absent until there is one."""
    refused: frozenset[str] = frozenset()
    """Names of the watches that the viewer may not list, somewhere or at all: what they would show is unknown, not absent."""
    listed: Mapping[str, Collection[str]] = MappingProxyType({})
    """By the name of the watch: the namespaces of which it has objects; an empty name is all of them."""


class Watch(NamedTuple):
    """A collection that is listed and watched."""

    name: str
    resource: Resource
    keep: Callable[[Json], Any]
    """The part of an object, with its kind and apiVersion, that rows are made of. Pure; None: the object is not shown."""
    collections: tuple[str, ...]
    """Collections of rows that are out of date while the watch is broken."""
    consequence: str
    """What is missing on the page where the viewer may not list it."""
    namespace: str = ""
    """Empty: those that the page shows, all of them where the viewer may list all."""
    label_selector: str = ""
    field_selector: str = ""
    is_of_all: bool = False
    """It is of all namespaces, whichever the page shows: a part of its objects would say something else than all of them."""
    is_one_of_several: bool = False
    """Rows are shown without its objects while it cannot be listed, as out of date: it is one of several kinds of jobs."""
    is_subject: bool = False
    """Its object is what the view is about: without it nothing is shown."""


class Reading(NamedTuple):
    """What cannot be watched, read again and again."""

    name: str
    read: Callable[[Client, Observed], Awaitable[Any]]
    """May raise ApiError: the last result stays then, and is said to be old if that happens again; as after any other error,
    which the page shows as one of its own. Where nothing has changed it returns the very result of before, and no rows are
    made."""
    seconds: float
    """Between the end of one and the next."""
    resources: tuple[Resource, ...] = ()
    """What it lists, or gets if it is a subresource; where the viewer may not, that is told with the consequence."""
    consequence: str = ""
    settle: float | None = None
    """Seconds after a change of a watched object that it is read again; None: changes do not matter."""
    is_of_all: bool = False
    """It lists in all namespaces, whichever the page shows."""


class View(Protocol):
    """See above."""

    @property
    def watches(self) -> Sequence[Watch]:
        """Read once, when the view begins to run: they cannot change later."""

    @property
    def readings(self) -> Sequence[Reading]:
        """Each is read for the first time once the watches have been answered."""

    def rows(self, observed: Observed, now: float) -> Rows:
        """All rows of all collections of the view. `now` is seconds since 1970."""


OpenView = Callable[[Viewer, Parameters], View]
"""Makes a view; InputError where the parameters make no sense for it."""
