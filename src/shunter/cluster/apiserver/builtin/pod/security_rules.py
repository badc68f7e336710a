"""What security contexts of pods and containers may say, and the namespaces of the machine that a pod shares.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`. Left out is what means nothing on one machine: Windows.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, required, too_long
from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.cluster.apiserver.builtin.pod.volume_rules import relative_path_errors
from shunter.cluster.apiserver.field_rules import one_of, unsupported

_MAX_ID = 2**31 - 1
_ID_FAULT = f"must be between 0 and {_MAX_ID}, inclusive"
_PROFILES = ["Localhost", "RuntimeDefault", "Unconfined"]
_LONGEST_PROFILE = 4095
_LONGEST_SYSCTL = 253
_SYSCTL_PART = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_SHAPE = rf"^({_SYSCTL_PART}[\./])*{_SYSCTL_PART}$"
_SYSCTL = late_pattern(_SYSCTL_SHAPE)
_IPC_SYSCTLS = frozenset(
    (
        "kernel.sem",
        "kernel.shm",
        "kernel.shmall",
        "kernel.shmmax",
        "kernel.shmmni",
        "kernel.shm_rmid_forced",
        "kernel.msg",
        "kernel.msgmax",
        "kernel.msgmnb",
        "kernel.msgmni",
    )
)


def pod_security_errors(spec: Json, field: str) -> list[FieldError]:
    """The security context of a pod, its operating system, and `hostUsers: false` beside other namespaces of the machine."""
    context, here = spec.get("securityContext", {}), f"{field}.securityContext"
    errors = _identity_errors(context, ("fsGroup", "runAsUser", "runAsGroup"), here)
    errors += [
        invalid(f"{here}.supplementalGroups[{index}]", group, _ID_FAULT)
        for index, group in enumerate(context.get("supplementalGroups", ()))
        if not _is_id(group)
    ]
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{here}.shareProcessNamespace", True, detail))
    errors += _sysctl_errors(context.get("sysctls", []), spec, f"{here}.sysctls")
    errors += _choice_errors(context, "fsGroupChangePolicy", ["Always", "OnRootMismatch"], here)
    errors += _profile_errors(context, here)
    errors += _choice_errors(context, "supplementalGroupsPolicy", ["Merge", "Strict"], here)
    if spec.get("hostUsers") is False:
        errors += [
            forbidden(f"{field}.{shown}", "when `hostUsers` is false")
            for name, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
            if spec.get(name)
        ]
    return errors


def container_security_errors(context: Json, field: str, *, host_users: bool) -> list[FieldError]:
    """The security context of a container."""
    errors = _identity_errors(context, ("runAsUser", "runAsGroup"), field)
    errors += _choice_errors(context, "procMount", ["Default", "Unmasked"], field)
    if host_users and context.get("procMount") == "Unmasked":
        errors.append(invalid(f"{field}.procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`"))
    errors += _profile_errors(context, field)
    if context.get("allowPrivilegeEscalation") is False:
        cannot = "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged"):
            errors.append(invalid(field, context, f"{cannot} `privileged` to true"))
        if "CAP_SYS_ADMIN" in context.get("capabilities", {}).get("add", ()):
            errors.append(invalid(field, context, f"{cannot} `capabilities.Add` CAP_SYS_ADMIN"))
    return errors


def _is_id(number: int) -> bool:
    return 0 <= number <= _MAX_ID


def _identity_errors(context: Json, names: tuple[str, ...], field: str) -> list[FieldError]:
    """User and group numbers of a security context."""
    return [
        invalid(f"{field}.{name}", context[name], _ID_FAULT) for name in names if name in context and not _is_id(context[name])
    ]


def _choice_errors(context: Json, name: str, choices: list[str], field: str) -> list[FieldError]:
    if name not in context or context[name] in choices:
        return []
    return [unsupported(f"{field}.{name}", context[name], choices)]


def _sysctl_errors(sysctls: list[Json], spec: Json, field: str) -> list[FieldError]:
    """Names, and that none is of a namespace that the pod shares with the machine."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        here, name = f"{field}[{index}].name", sysctl.get("name", "")
        if not name:
            errors.append(required(here))
        elif len(name) > _LONGEST_SYSCTL or not _SYSCTL.fullmatch(name):
            errors.append(invalid(here, name, f"must have at most {_LONGEST_SYSCTL} characters and match regex {_SYSCTL_SHAPE}"))
        elif name in seen:
            errors.append(duplicate(here, name))
        seen.add(name)
        dotted = _dotted(name)
        if spec.get("hostNetwork") and dotted.startswith("net."):
            errors.append(invalid(here, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.get("hostIPC") and (dotted in _IPC_SYSCTLS or dotted.startswith("fs.mqueue.")):
            errors.append(invalid(here, name, "may not be specified when 'hostIPC' is true"))
    return errors


def _dotted(name: str) -> str:
    """A sysctl's name may be written as the path of its file: then dots stand for themselves."""
    slash, dot = name.find("/"), name.find(".")
    return name if slash < 0 or 0 <= dot < slash else name.translate(str.maketrans("/.", "./"))


def _profile_errors(context: Json, field: str) -> list[FieldError]:
    return _seccomp_errors(context.get("seccompProfile"), f"{field}.seccompProfile") + _app_armor_errors(
        context.get("appArmorProfile"), f"{field}.appArmorProfile"
    )


def _app_armor_errors(profile: Json | None, field: str) -> list[FieldError]:
    """No faults where there is no profile. `localhostProfile` is for the type `Localhost` alone, which needs it."""
    if profile is None:
        return []
    kind, local, here = profile.get("type", ""), profile.get("localhostProfile"), f"{field}.localhostProfile"
    if not kind:
        return [required(f"{field}.type", "type is required when appArmorProfile is set")]
    if kind not in _PROFILES:
        return [unsupported(f"{field}.type", kind, _PROFILES)]
    if kind != "Localhost":
        return [] if local is None else [invalid(here, local, "can only be set when AppArmor type is Localhost")]
    if not local:
        return [required(here, "must be set when AppArmor type is Localhost")]
    errors = [] if local == local.strip() else [invalid(here, local, "must not be padded with whitespace")]
    return errors + ([too_long(here, _LONGEST_PROFILE)] if len(local.encode()) > _LONGEST_PROFILE else [])


def _seccomp_errors(profile: Json | None, field: str) -> list[FieldError]:
    """No faults where there is no profile. `localhostProfile` is for the type `Localhost` alone, which needs it: a relative path
    without `..`."""
    if profile is None:
        return []
    kind = profile.get("type", "")
    if not kind:
        errors = [required(f"{field}.type", "type is required when seccompProfile is set")]
    else:
        errors = one_of(f"{field}.type", kind, _PROFILES)
    if kind == "Localhost" and "localhostProfile" not in profile:
        errors.append(required(f"{field}.localhostProfile", "must be set when seccomp type is Localhost"))
    elif kind == "Localhost":
        errors += relative_path_errors(profile["localhostProfile"], f"{field}.localhostProfile")
    elif "localhostProfile" in profile:
        errors.append(invalid(f"{field}.localhostProfile", profile, "can only be set when seccomp type is Localhost"))
    return errors
