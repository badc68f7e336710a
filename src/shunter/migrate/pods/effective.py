"""What a container really sees: its environment after duplicates and references, its command and arguments.

By the node's own rules: of two variables with one name the last wins, a value may refer to those before it, `$(NAME)` in command
and arguments is replaced by what the environment says in the end.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.cluster.node.content.downward import PodContext
from shunter.cluster.node.content.environment import declared_environment
from shunter.cluster.node.content.expansion import expand_all
from shunter.cluster.node.content.references import Sources

_MACHINE = PodContext(pod_ip="<address of the pod>", host_ip="<address of its node>", allocatable={})


class EffectiveContainer(NamedTuple):
    """What the process of a container gets, as far as the pod says it."""

    environment: dict[str, str]
    """Without what envFrom brings. What stands in a ConfigMap or Secret is `<KIND NAME: KEY>`, with `optional` before it where
    the container starts without it as well."""
    command: list[str] | None
    """None when the image's own is started."""
    arguments: list[str]

    @property
    def program(self) -> list[str] | None:
        """Command and arguments in one, as the process gets them; None where the image's entrypoint comes first."""
        return None if self.command is None else [*self.command, *self.arguments]


def effective_container(pod: Json, container: Json) -> EffectiveContainer:
    """What a container of an admitted pod sees. Raises ValueError for a reference that Kubernetes does not offer."""
    environment = declared_environment(pod, container, sources=_UNREAD, context=_MACHINE)
    command = container.get("command")
    return EffectiveContainer(
        environment,
        expand_all(command, environment) if command else None,
        expand_all(container.get("args") or (), environment),
    )


class _Entries(dict[str, bytes]):
    """An object that was not read: every key is there, and its value is a mark with its name."""

    def __init__(self, title: str) -> None:
        self._title = title

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> bytes:
        return f"<{self._title}: {key}>".encode()


class _Unread(Sources):
    """ConfigMaps and Secrets by name only."""

    def config_map(self, name: str, *, optional: bool) -> dict[str, bytes]:
        return _entries(f"{'optional ' * optional}ConfigMap {name}")

    def secret(self, name: str, *, optional: bool) -> dict[str, bytes]:
        return _entries(f"{'optional ' * optional}Secret {name}")


@cache
def _entries(title: str) -> _Entries:
    return _Entries(title)


_UNREAD = _Unread({}, {}, {})
