"""Ways for pods to what is outside of their network: a name and port of theirs, and where that leads on this machine.

For services that run beside the cluster and not in it, as the operator's status server does beside an embedded one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from shunter.api.formats.digits import port_number
from shunter.cluster.node.net.names import CLUSTER_DOMAIN
from shunter.cluster.node.runtime.protocol import HostPort
from shunter.errors import InputError

_SERVICE = re.compile(r"([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?):(\d{1,5})=([^=]+):(\d{1,5})")


class ExternalService(NamedTuple):
    """Pods reach `target` as `name:port`."""

    name: str
    port: int
    target: HostPort


def parsed(texts: Iterable[str]) -> tuple[ExternalService, ...]:
    """From `NAME:PORT=HOST:PORT`. Raises InputError."""
    return tuple(_parsed(text) for text in texts)


def names(services: Iterable[ExternalService], address: str) -> dict[str, str]:
    """The names as DNS is asked for them, also after a pod's search list, and the address that they resolve to."""
    return {spelled: address for service in services for spelled in (service.name, f"{service.name}.{CLUSTER_DOMAIN}")}


def _parsed(text: str) -> ExternalService:
    match = _SERVICE.fullmatch(text)
    if match is None or None in map(port_number, match.group(2, 4)):
        raise InputError(
            f"--reach {text!r} is not NAME:PORT=HOST:PORT.", "Write it like --reach status.svc:10443=127.0.0.1:10443."
        )
    return ExternalService(match[1], int(match[2]), HostPort(match[3].strip("[]"), int(match[4])))
