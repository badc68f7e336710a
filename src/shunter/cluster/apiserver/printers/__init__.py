"""What `kubectl get` shows: columns and cells of each built-in kind, as data and small pure functions.

pod.py, workloads.py, core.py, network.py, storage.py    by family of kinds; pod.py: the STATUS of a pod
custom.py, json_path.py    additionalPrinterColumns
columns.py, tables.py      ages and labels in cells; `Table` and `PartialObjectMetadata`

Source: k8s.io/kubernetes `pkg/printers/internalversion` (1.36). A kind without a printer shows its name and when it was created.

Tests: tests/cluster/apiserver/printers, the cells of a kind in the file of its module; forms of Table answers in
tests/vectors/cases/tables.yaml.
"""

from __future__ import annotations

from shunter.cluster.apiserver.kinds import Kind
from shunter.cluster.apiserver.printers.columns import DEFAULT, Printer
from shunter.cluster.apiserver.printers.core import PRINTERS as CORE
from shunter.cluster.apiserver.printers.custom import custom_printer
from shunter.cluster.apiserver.printers.network import PRINTERS as NETWORK
from shunter.cluster.apiserver.printers.pod import PRINTER as POD
from shunter.cluster.apiserver.printers.storage import PRINTERS as STORAGE
from shunter.cluster.apiserver.printers.workloads import PRINTERS as WORKLOADS

_PRINTERS: dict[tuple[str, str], Printer] = {("", "Pod"): POD, **CORE, **NETWORK, **STORAGE, **WORKLOADS}


def printer(kind: Kind, *, custom: bool) -> Printer:
    """How objects of this kind are shown."""
    if custom:
        return custom_printer(kind)
    return _PRINTERS.get((kind.resource.group, kind.resource.kind), DEFAULT)
