"""Code of a job that no rule can read: in images, on volumes, and what containers fetch when they start."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json

_READABLE = frozenset({"configMap", "secret", "downwardAPI", "projected", "emptyDir"})
"""Volumes whose files the cluster writes, or the pod itself."""
_FETCH = late_pattern(
    r"\b(?:git(?=\s[^|;&\n]*?\b(clone|pull|fetch)\b)|curl|wget|aws\s+s3\s+(?:cp|sync)|gsutil|gcloud\s+storage|azcopy|rclone|hf\s+download"
    r"|huggingface-cli\s+download)\b"
)
_PROGRAM = r"[^\s'\";|&]*\.(?:py|sh|bash|pl|jl|R)\b"


class UnreadCode(NamedTuple):
    """Where code comes from that was not read, each once."""

    images: tuple[str, ...]
    volumes: tuple[str, ...]
    """Names of those from which a container runs a program."""
    fetches: tuple[str, ...]
    """The commands that fetch files, such as `git clone`."""


def unread_code(templates: Iterable[Json]) -> UnreadCode:
    """The code of pods with these templates that was not read."""
    images: list[str] = []
    volumes: list[str] = []
    fetches: list[str] = []
    for template in templates:
        spec = template.get("spec") or {}
        kept = {volume.get("name") for volume in spec.get("volumes") or () if not _READABLE & volume.keys()}
        for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
            text = "\n".join(map(str, (*(container.get("command") or ()), *(container.get("args") or ()))))
            images += [str(container["image"])] if container.get("image") else []
            volumes += [name for name in _run_from(container, text) if name in kept]
            fetches += [f"git {found[1]}" if found[1] else " ".join(found[0].split()) for found in _FETCH.finditer(text)]
    return UnreadCode(*(tuple(dict.fromkeys(found)) for found in (images, volumes, fetches)))


def together(codes: Iterable[UnreadCode]) -> UnreadCode:
    """The unread code of several jobs, without duplicates."""
    parts = [*zip(*codes, strict=True)] or [(), (), ()]
    return UnreadCode(*(tuple(dict.fromkeys(one for part in same for one in part)) for same in parts))


def _run_from(container: Json, text: str) -> Iterator[str]:
    """The volumes below which the container's working directory is, or a program that its command names."""
    starts = (f"{container.get('workingDir') or ''}/", text.partition("\n")[0])
    for mount in container.get("volumeMounts") or ():
        path = str(mount.get("mountPath", "")).rstrip("/")
        below = re.escape(path)
        is_named = re.search(rf"(?<![\w./-]){below}/{_PROGRAM}|\bcd\s+['\"]?{below}(?![\w.-])", text)
        if path and (is_named or any(start.startswith(f"{path}/") for start in starts)):
            yield str(mount.get("name", ""))
