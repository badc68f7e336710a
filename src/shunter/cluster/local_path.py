"""How PersistentVolumes that this cluster makes are marked: the controllers make them, the node fills them."""

from __future__ import annotations

PROVISIONER = "shunter.dev/local-path"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
"""Annotation of a PersistentVolume: its provisioner."""
