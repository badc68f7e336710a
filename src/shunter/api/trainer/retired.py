"""Fields of v1alpha1 that earlier releases of Trainer had: refused by the schema, which names their successor.

Unknown fields are dropped, with a warning that programs do not show: Kueue 0.14 to 0.16 write the node selectors of a job's
flavor into the overrides, and the job would start without them.
"""

from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from shunter.api.meta import Json, Struct
from shunter.api.openapi import builtin, cel, doc, list_atomic, schema, shape


class _Anything(Struct, frozen=True):
    pass


_Overrides: TypeAlias = tuple[Annotated[Json, shape(_Anything), schema(**{"x-kubernetes-preserve-unknown-fields": True})], ...]


def _replaced(release: str) -> Meta:
    message = (
        f"this field of Trainer {release} was removed: use spec.runtimePatches. Kueue 0.17 and later write "
        f"those; earlier versions do not work with this release"
    )
    return cel(("size(self) == 0", message))


_PROCESSES_MOVED = (
    "this field of Trainer 2.1 was removed: set spec.trainer.numProcPerNode of the TrainJob to a number. Without one it "
    "is as auto was: a process for each GPU, else for each CPU"
)

PodTemplateOverrides: TypeAlias = Annotated[
    _Overrides, list_atomic(maxItems=128), _replaced("2.1"), doc("Removed in Trainer 2.2: use runtimePatches.")
]
PodSpecOverrides: TypeAlias = Annotated[
    _Overrides, list_atomic(maxItems=128), _replaced("2.0"), doc("Removed in Trainer 2.1: use runtimePatches.")
]
TorchProcesses: TypeAlias = Annotated[
    Any,
    builtin("io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
    cel(("self == 'auto'", _PROCESSES_MOVED)),
    doc("Removed in Trainer 2.2: use numProcPerNode of TrainJobs. Only auto is accepted, which applies anyway."),
]
