"""A pod bound to this node, whole: the node is the one reader that needs everything a user wrote."""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.api.core import FINISHED_PHASES
from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.resources import PODS
from shunter.kube.controllers.plan import Ref


class AssignedPod(Struct, frozen=True):
    """Spec and status as plain JSON, metadata typed."""

    metadata: ObjectMeta
    spec: Json
    status: Json = {}

    @property
    def uid(self) -> str:
        """Another one than that of an earlier pod with the same name."""
        return self.metadata.uid

    @property
    def ref(self) -> Ref:
        """What writes and events about the pod name."""
        return Ref.of(PODS, self.metadata)

    @property
    def is_finished(self) -> bool:
        """Whether the status that the server has says Succeeded or Failed."""
        return self.status.get("phase") in FINISHED_PHASES

    @property
    def title(self) -> str:
        """How kubelet names a pod in messages: `name_namespace(uid)`."""
        return f"{self.metadata.name}_{self.metadata.namespace}({self.metadata.uid})"

    def as_json(self) -> Json:
        """The form that the pure functions read."""
        encoded: dict[str, Any] = msgspec.to_builtins(self)
        return encoded
