"""Differences between the pods of both sides that follow from how v2 works, and mean the same to the program: one rule each.

A rule says why in half a sentence, or nothing. What no rule knows must be told by a finding of the conversion, or it is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from shunter.api.batch import JOB_TRACKING_FINALIZER
from shunter.api.scheduling.podgroups import COSCHEDULING_GROUP, VOLCANO_GROUP_NAME, VOLCANO_TASK
from shunter.api.trainer.torch_validation import TORCHRUN_ENVIRONMENT
from shunter.cluster.controllers.job.pods import COMPLETION_INDEX_ENV
from shunter.migrate.conversion.rules.pytorch.launcher import TOLD_BY_V1
from shunter.migrate.conversion.rules.ssh import is_set_up
from shunter.migrate.pods.differences import Difference
from shunter.migrate.pods.facts import TRAINING
from shunter.migrate.proof.context import Context
from shunter.migrate.proof.launches import launch_of, reads_nothing
from shunter.migrate.proof.mpi_expectations import MPI_RULES
from shunter.operator.trainer.plugins.jax import PROCESS_ENVIRONMENT as JAX_ENVIRONMENT
from shunter.operator.trainer.plugins.mpi import OPEN_MPI_ENVIRONMENT
from shunter.operator.trainer.plugins.xgboost import TRACKER_ENVIRONMENT
from shunter.operator.trainer.rendezvous import PORT

OF_V1 = "training.kubeflow.org/"
OF_V2 = ("jobset.sigs.k8s.io/", "batch.kubernetes.io/", "job-name", "controller-uid", OF_V1)
"""Beginnings of keys that controllers write; ours may repeat v1's on request."""
_PORT_OF_V2 = str(PORT)


Rule = Callable[[Difference, Context], str]


def expected(difference: Difference, context: Context) -> str:
    """Why the difference is as it should be; empty when no rule knows it."""
    place = difference.place
    if place[0] in ("labels", "annotations") and (difference.v1 is None or difference.v2 is None):
        # Most differences by far: pods have dozens of keys that the other side lacks, the same ones each.
        key = place, difference.v1 is None
        if key not in context.lacking:
            context.lacking[key] = labels(difference, context)
        return context.lacking[key]
    for rule in (*RULES, *MPI_RULES) if context.is_mpi else RULES:
        if reason := rule(difference, context):
            return reason
    return ""


def labels(difference: Difference, context: Context) -> str:
    """The reason for a label or annotation that controllers of one side write; empty for any other difference."""
    section, *rest = difference.place
    if section not in ("labels", "annotations"):
        return ""
    key = rest[0]
    if difference.v2 is None and key.startswith(OF_V1):
        return "pods are identified by JobSet's labels, no longer by those of the v1 operator"
    if difference.v1 is None and key.startswith(OF_V2):
        return "JobSet and Job label their pods"
    if key == VOLCANO_TASK and difference.v2 is None:
        return "v2 does not set Volcano's name of the role"
    if key in (VOLCANO_GROUP_NAME, COSCHEDULING_GROUP) and difference.v1 and difference.v2:
        return "the pod group is named after the job"
    return ""


def finalizers(difference: Difference, context: Context) -> str:
    """The reason for the Job controller's own finalizer; empty for any other difference."""
    is_tracking = difference.place == ("finalizers", JOB_TRACKING_FINALIZER)
    return "the Job controller counts its pods" if is_tracking and difference.v1 is None else ""


def host_name(difference: Difference, context: Context) -> str:
    """The reason for hostname and subdomain where v1 had none; empty where v1 had another."""
    if difference.place in (("spec", "hostname"), ("spec", "subdomain")) and difference.v1 is None:
        return "JobSet gives pods the names that v1 gave to Services"
    return ""


def waiting_containers(difference: Difference, context: Context) -> str:
    """Beside the containers themselves the order of those that stay is looked at."""
    if difference.place[0] != "initContainers":
        return ""
    reason = "the v1 operator's own; v2's programs find each other without"
    if len(difference.place) == 1:
        kept = [name for name in difference.v1 or () if name not in context.waiting]
        before = difference.v1 or ()
        own = [name for name in difference.v2 or () if name in before or not (context.is_mpi and is_set_up(name))]
        return reason if kept == own else ""
    return reason if difference.v2 is None and difference.place[1] in context.waiting else ""


def whole_pod_requests(difference: Difference, context: Context) -> str:
    """Limits of a whole pod bring requests of what its containers ask for, those of v1's init container among them."""
    is_request = difference.place[:3] == ("spec", "resources", "requests")
    own = (
        [one for one in difference.pair.v1.pod["spec"].get("initContainers") or [] if one["name"] in context.waiting]
        if difference.pair.v1
        else []
    )
    return "asked for by the v1 operator's own init container" if is_request and difference.v2 is None and own else ""


def ports(difference: Difference, context: Context) -> str:
    """The reason for the port where pods meet, on either side; empty for any other port."""
    if len(difference.place) != 4 or difference.place[2] != "ports":
        return ""
    port = context.kind.port
    of_v1 = {key: value for key, value in (difference.v1 or {}).items() if key != "hostPort"}
    if not difference.v2 and port and of_v1 == {"name": port.name}:
        return f"v1 named the port {port.name}; containers of v2 may listen on any"
    if difference.v1 is None and difference.place[1] == TRAINING and difference.place[3] == f"{PORT}/TCP":
        return "the port at which v2's pods meet"
    return ""


def added_variables(difference: Difference, context: Context) -> str:
    """The reason for a variable that v2's plugins add, or that others are made of; empty where v1 had one of that name."""
    name = variable_of(difference)
    if not name or difference.v1 is not None:
        return ""
    of_plugins = (*TORCHRUN_ENVIRONMENT, *TRACKER_ENVIRONMENT, *OPEN_MPI_ENVIRONMENT, *JAX_ENVIRONMENT)
    if name in of_plugins or name == COMPLETION_INDEX_ENV:
        return "told by v2 as well"
    return "what other variables are made of" if name in context.helpers else ""


def meeting_port(difference: Difference, context: Context) -> str:
    """v1 and v2 meet at different ports; every pod is told the same, so a program that listens to it need not care."""
    name, pair = variable_of(difference), difference.pair
    # $(MASTER_PORT) may have stood in the words of a program.
    is_program = len(difference.place) == 3 and difference.place[2] in {"program", "command", "args"}
    if pair.v1 is None or not (is_program or (name and name in context.appended.get(pair.v1.role, ()))):
        return ""
    before, after = (_without_ports(value, context.ports | {_PORT_OF_V2}) for value in (difference.v1, difference.v2))
    return "v2's pods meet at another port" if before == after and difference.v2 is not None else ""


def own_address(difference: Difference, context: Context) -> str:
    """PaddleJob tells the pod that all others meet its own address."""
    name = variable_of(difference)
    if not name or not isinstance(difference.v1, str) or not isinstance(difference.v2, str):
        return ""
    named = difference.v1.replace("<address of the pod>", difference.pair.mark)
    known = context.ports | {_PORT_OF_V2}
    is_same = named != difference.v1 and _without_ports(named, known) == _without_ports(difference.v2, known)
    return "the pod's own address, by its name" if is_same else ""


def own_job(difference: Difference, context: Context) -> str:
    """Variables by which v1's operator told the name of the job."""
    name, pair = variable_of(difference), difference.pair
    if not name or pair.v1 is None or name not in context.appended.get(pair.v1.role, ()):
        return ""
    names = (context.matched.v1.job.name, context.matched.v2.jobset["metadata"]["name"])
    return "the job has another name now" if (difference.v1, difference.v2) == names else ""


def dropped_helpers(difference: Difference, context: Context) -> str:
    """A variable of v1's operator that only its own other variables were made of."""
    name, pair = variable_of(difference), difference.pair
    own = context.appended.get(pair.v1.role, frozenset()) if pair.v1 else frozenset()
    if difference.v2 is not None or pair.v1 is None or name not in own:
        return ""
    used = (
        f"$({name})" in str(variable.get("value", ""))
        for container in pair.v1.pod["spec"]["containers"]
        for variable in container.get("env") or []
        if variable["name"] in own
    )
    return "v1 made other variables of it" if any(used) else ""


def unread(difference: Difference, context: Context) -> str:
    """PET_* are options of torchrun; where it starts nothing, nobody reads them."""
    name, pair = variable_of(difference), difference.pair
    if not name.startswith("PET_") or difference.place[1] != TRAINING or pair.v1 is None:
        return ""
    launch = launch_of(pair.v1)
    is_read = launch.launcher in {"torchrun", "unknown"} or any(use.name == name for use in launch.uses)
    return "" if is_read else f"only torchrun reads it, and the program is started by {launch.launcher}"


def read_by_nothing(difference: Difference, context: Context) -> str:
    """A variable of v1's operator in a container whose program can be seen, and reads no such variable."""
    name, pair = variable_of(difference), difference.pair
    if pair.v1 is None or difference.v2 is not None or name not in context.appended.get(pair.v1.role, ()):
        return ""
    section, called = difference.place[:2]
    wanted = pair.v1.container if called == TRAINING else called
    container = next((one for one in pair.v1.pod["spec"].get(section) or () if one["name"] == wanted), None)
    return "nothing in the container reads it" if container and reads_nothing(container, (name,)) else ""


def overruled(difference: Difference, context: Context) -> str:
    """PET_* count for less than the options of torchrun that they stand for."""
    name, pair = variable_of(difference), difference.pair
    if not name.startswith("PET_") or difference.place[1] != TRAINING or pair.v1 is None or pair.v2 is None:
        return ""
    if difference.v1 == f"{difference.v2}:{difference.v2}":
        return "a range of one number"
    option = name.removeprefix("PET_").lower().replace("_", "-")
    given = [launch_of(replica).main.option(option) for replica in (pair.v1, pair.v2)]
    return "an option of torchrun wins over it" if all(given) else ""


def set_by_torchrun(difference: Difference, context: Context) -> str:
    """torchrun tells its processes these itself, and takes nothing from them."""
    name, pair = variable_of(difference), difference.pair
    if name not in TOLD_BY_V1 or difference.place[1] != TRAINING or pair.v1 is None or difference.v2 is not None:
        return ""
    launch = launch_of(pair.v1)
    is_read = launch.launcher != "torchrun" or any(use.name == name for use in launch.uses)
    return "" if is_read else "torchrun tells its processes itself"


def variable_of(difference: Difference) -> str:
    """The name of the variable that the difference is about, or nothing."""
    place = difference.place
    return place[3] if len(place) == 4 and place[2] == "env" and place[0] in {"containers", "initContainers"} else ""


def _without_ports(value: Any, known: frozenset[str]) -> Any:
    """The value with a mark for each of the ports: alone, or after a host and a colon."""
    if isinstance(value, dict):
        return {key: _without_ports(item, known) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_ports(item, known) for item in value]
    if not isinstance(value, str):
        return value
    if value in known:
        return "<port>"
    return re.sub(r"(?<=[>\w]):(\d+)\b", lambda match: ":<port>" if match[1] in known else match[0], value)


RULES: tuple[Rule, ...] = (
    labels,
    finalizers,
    host_name,
    waiting_containers,
    whole_pod_requests,
    ports,
    added_variables,
    meeting_port,
    own_address,
    own_job,
    dropped_helpers,
    unread,
    read_by_nothing,
    overruled,
    set_by_torchrun,
)
"""Of all kinds; those of one kind are in `mpi_expectations`."""
