"""How objects are named in sentences. Pure."""

from __future__ import annotations

from shunter.api.meta import Json


def object_title(kind: str, namespace: str, name: str) -> str:
    """`PyTorchJob training/bert`; of an object that is in no namespace, or whose namespace is not known, `ClusterRole admin`."""
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def title_of(obj: Json) -> str:
    """The title of an object as the API server gives it; of one without a name a KeyError."""
    metadata = obj["metadata"]
    return object_title(obj["kind"], metadata.get("namespace", ""), metadata["name"])
