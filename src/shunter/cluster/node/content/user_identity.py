"""The user, group and supplementary groups that a container's processes run as, and the group that a pod's volumes belong to.

Pure. Sources: PodSecurityContext and SecurityContext of the Kubernetes API; kubelet 1.36 for its words
(`pkg/kubelet/kuberuntime/security_context.go`); containerd for what /etc/passwd and /etc/group of the image add.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from shunter.api.meta import Json

ROOT = 0


class UserIdentity(NamedTuple):
    """Numbers, as the kernel knows them."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str
    """Home directory of the user in the image's /etc/passwd; `/` for a user that is not in it."""


class Accounts(NamedTuple):
    """The text of an image's /etc/passwd and /etc/group; empty where it has none."""

    passwd: str = ""
    group: str = ""


def sets_user(pod_spec: Json, container: Json) -> bool:
    """Whether the pod sets a user or group for this container."""
    fields = ("runAsUser", "runAsGroup", "fsGroup", "supplementalGroups")
    pod, own = pod_spec.get("securityContext") or {}, container.get("securityContext") or {}
    return any(pod.get(field) is not None or own.get(field) is not None for field in fields)


def user_identity(pod: Json, container: Json, accounts: Accounts) -> UserIdentity:
    """The user and groups of the container. Without a setting in the pod, an image that is an environment of this machine runs
    as root. Raises ValueError as `refuse_root` does."""
    refuse_root(pod, container)
    shared, own = pod["spec"].get("securityContext") or {}, container.get("securityContext") or {}
    uid = _effective("runAsUser", shared, own)
    account = _account(accounts.passwd, uid or ROOT)
    gid = _effective("runAsGroup", shared, own)
    if gid is None:
        gid = account.gid
    groups = {gid, *(shared.get("supplementalGroups") or ())}
    if shared.get("fsGroup") is not None:
        groups.add(shared["fsGroup"])
    if shared.get("supplementalGroupsPolicy") != "Strict":
        groups |= _memberships(accounts.group, account.name)
    return UserIdentity(uid or ROOT, gid, tuple(sorted(groups)), account.home)


def refuse_root(pod: Json, container: Json) -> None:
    """Raises ValueError, in kubelet's words, for a container that must not run as root and says that it does."""
    shared, own = pod["spec"].get("securityContext") or {}, container.get("securityContext") or {}
    if _effective("runAsUser", shared, own) == ROOT and _effective("runAsNonRoot", shared, own):
        metadata = pod["metadata"]
        title = f"{metadata['name']}_{metadata.get('namespace', '')}({metadata.get('uid', '')})"
        raise ValueError(f'container\'s runAsUser breaks non-root policy (pod: "{title}", container: {container["name"]})')


def ignored(pod_spec: Json) -> str:
    """What a pod requests that a node without the rights of root cannot give, as a sentence; empty when there is nothing."""
    containers = [*(pod_spec.get("initContainers") or ()), *(pod_spec.get("containers") or ())]
    names = [container["name"] for container in containers if sets_user(pod_spec, container)]
    if not names:
        return ""
    return (
        f"runAsUser, runAsGroup and fsGroup are ignored for {', '.join(names)}: the node does not run as root, so containers run"
        " as the user who started it"
    )


def volume_group(pod_spec: Json) -> int | None:
    """The group that a pod's volumes belong to; None where it is not set."""
    group: int | None = (pod_spec.get("securityContext") or {}).get("fsGroup")
    return group


def token_owner(pod_spec: Json) -> int | None:
    """The one user that all containers run as, who then owns the pod's tokens; None where they differ or do not say."""
    shared = pod_spec.get("securityContext") or {}
    containers = [*(pod_spec.get("initContainers") or ()), *(pod_spec.get("containers") or ())]
    users = {_effective("runAsUser", shared, container.get("securityContext") or {}) for container in containers}
    return users.pop() if len(users) == 1 else None


class _Account(NamedTuple):
    name: str
    gid: int
    home: str


def _account(passwd: str, uid: int) -> _Account:
    for line in passwd.splitlines():
        fields = line.split(":")
        if len(fields) >= 6 and fields[2] == str(uid) and fields[3].isdecimal():
            return _Account(fields[0], int(fields[3]), fields[5] or "/")
    return _Account("", ROOT, "/")


def _memberships(group: str, user: str) -> set[int]:
    """The groups of which /etc/group names the user a member."""
    found = set()
    for line in group.splitlines():
        fields = line.split(":")
        if user and len(fields) >= 4 and user in fields[3].split(",") and fields[2].isdecimal():
            found.add(int(fields[2]))
    return found


def _effective(field: str, shared: Json, own: Json) -> Any:
    return own[field] if own.get(field) is not None else shared.get(field)
