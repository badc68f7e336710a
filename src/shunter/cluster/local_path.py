"""How PersistentVolumes that this cluster makes are marked: the controllers make them, the node fills them."""

from __future__ import annotations

from collections.abc import Mapping

PROVISIONER = "shunter.dev/local-path"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
"""Annotation of a PersistentVolume: its provisioner."""


def is_provisioned(annotations: Mapping[str, str]) -> bool:
    """Whether the PersistentVolume with these annotations is a directory that this cluster has made."""
    return annotations.get(PROVISIONED_BY) == PROVISIONER
