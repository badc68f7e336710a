"""The network that NCCL uses, from its log. Pure.

At the level INFO, subsystem INIT, NCCL prints `Using network NAME` when ranks form a group (a communicator), and nothing of it at
WARN. Source: NCCL's init.cc, the format in libnccl 2.30.7, and published logs of 2.12 to 2.22.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from shunter.api.core import variables_of
from shunter.api.meta import Json
from shunter.fabrics import NETWORK_VARIABLE, Profile, profiles

SOCKET = "Socket"
"""NCCL's name for TCP."""
_CHOICE = re.compile(r"\bNCCL INFO Using network (\S[^\r\n]*)")


def chosen_networks(lines: Iterable[str]) -> tuple[str, ...]:
    """The networks of the groups in the log, each once, in order; usually one. Empty if the log has none."""
    found = (match[1].rstrip() for line in lines if (match := _CHOICE.search(line)))
    return tuple(dict.fromkeys(found))


def requested_profile(name: str, pods: Sequence[Json]) -> Profile | None:
    """The profile of a job: that of its annotation (`name`, may be empty), else the one whose network or device its pods
    request."""
    if name in profiles():
        return profiles()[name]
    containers = [container for pod in pods for container in pod.get("spec", {}).get("containers") or ()]
    networks = {variables_of(container).get(NETWORK_VARIABLE) for container in containers}
    resources = {
        resource
        for container in containers
        for amounts in ((container.get("resources") or {}).get("limits"), (container.get("resources") or {}).get("requests"))
        for resource in amounts or ()
    }
    for profile in profiles().values():
        if profile.network in networks or any(device.name in resources for device in profile.devices):
            return profile
    return None


def network_lines(networks: Sequence[str] | None, profile: Profile | None) -> tuple[str, str]:
    """The network that NCCL chose, and a warning; each may be empty. `networks` is None if there is no log."""
    shown = f"{', '.join(networks)} (NCCL, from the log)" if networks else ""
    if profile is None or networks is None:
        return shown, ""
    if not networks:
        return "not in the log (yet); NCCL logs it on start with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT", ""
    if SOCKET not in networks:
        return shown, ""
    return shown, (
        f"trains over TCP: NCCL chose {SOCKET} and not {profile.network}, the network of {profile.name}. With "
        f"{NETWORK_VARIABLE}={profile.network!r} it stops instead: see that all ranks have that, and the image the plugin"
    )
