"""The input of the engine: one job and everything that it owns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from shunter.api.field_errors import FieldError
from shunter.api.resources import Resource
from shunter.operator.training.autoscaler import Autoscaler
from shunter.operator.training.children import Children
from shunter.operator.training.gang import Gang
from shunter.operator.training.job import AnyJob


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A job with its defaults, what admission would say about it, and the pods and services that are its own.

    Faults count until the job has started: what a running job became later (the scale subresource asks no webhook) is acted upon
    as far as possible.
    """

    job: AnyJob
    faults: tuple[FieldError, ...] = ()
    children: Children = Children()
    ended: Mapping[str, int] = {}
    """The revisions at which pods were seen to have ended, by their UIDs (`EndedPods`)."""
    gang: Gang | None = None
    """None when the operator schedules no gangs."""
    autoscaler: Autoscaler | None = None
    kept: Mapping[Resource, Any] = {}
    """The existing objects with the names of `Framework.extra_object_names`, whoever owns them."""
