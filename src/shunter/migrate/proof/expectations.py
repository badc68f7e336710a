"""Differences between the pods of both sides that follow from how v2 works and do not matter to the program, one rule each.

A rule returns the reason in half a sentence, or nothing. A difference without a reason needs a finding of the conversion.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from shunter.api.batch import JOB_TRACKING_FINALIZER
from shunter.api.scheduling.podgroups import COSCHEDULING_GROUP, VOLCANO_GROUP_NAME, VOLCANO_TASK
from shunter.api.trainer.torch_validation import TORCHRUN_ENVIRONMENT
from shunter.cluster.controllers.job.pods import COMPLETION_INDEX_ENV
from shunter.migrate.conversion.rules.pytorch.launcher import V1_VARIABLES
from shunter.migrate.conversion.rules.ssh import is_set_up
from shunter.migrate.pods.differences import Difference
from shunter.migrate.pods.facts import TRAINING, is_own
from shunter.migrate.proof.context import Context
from shunter.migrate.proof.launches import launch_of, reads_nothing
from shunter.migrate.proof.mpi_expectations import MPI_RULES
from shunter.operator.trainer.plugins.jax import PROCESS_ENVIRONMENT as JAX_ENVIRONMENT
from shunter.operator.trainer.plugins.mpi import OPEN_MPI_ENVIRONMENT
from shunter.operator.trainer.plugins.xgboost import TRACKER_ENVIRONMENT
from shunter.operator.trainer.rendezvous import PORT
from shunter.operator.training.names import PREFIX as V1_PREFIX

_PORT_OF_V2 = str(PORT)


Rule = Callable[[Difference, Context], str]


def expected(difference: Difference, context: Context) -> str:
    """Why the difference is expected; empty if no rule applies."""
    place = difference.place
    if place[0] in ("labels", "annotations") and (difference.v1 is None or difference.v2 is None):
        # Most differences by far: all pods have the same dozens of keys that the other side lacks.
        key = place, difference.v1 is None
        if key not in context.reasons_of_keys:
            context.reasons_of_keys[key] = labels(difference, context)
        return context.reasons_of_keys[key]
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
    if difference.v2 is None and key.startswith(V1_PREFIX):
        return "pods are identified by JobSet's labels, no longer by those of the v1 operator"
    if difference.v1 is None and is_own(key):
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


def init_containers(difference: Difference, context: Context) -> str:
    """The reason for an init container that v1's operator added, or their list, if the others stay in order; empty otherwise."""
    if difference.place[0] != "initContainers":
        return ""
    reason = "added by the v1 operator, and not needed in v2"
    if len(difference.place) == 1:
        kept = [name for name in difference.v1 or () if name not in context.init_containers]
        before = difference.v1 or ()
        own = [name for name in difference.v2 or () if name in before or not (context.is_mpi and is_set_up(name))]
        return reason if kept == own else ""
    return reason if difference.v2 is None and difference.place[1] in context.init_containers else ""


def pod_requests(difference: Difference, context: Context) -> str:
    """The reason for a request of the pod that v2 lacks: with limits of the pod, v1's includes that of the operator's init
    container."""
    is_request = difference.place[:3] == ("spec", "resources", "requests")
    own = (
        [one for one in difference.pair.v1.pod["spec"].get("initContainers") or [] if one["name"] in context.init_containers]
        if difference.pair.v1
        else []
    )
    return "requested by the v1 operator's init container" if is_request and difference.v2 is None and own else ""


def ports(difference: Difference, context: Context) -> str:
    """The reason for the rendezvous port of either side; empty for any other port."""
    if len(difference.place) != 4 or difference.place[2] != "ports":
        return ""
    port = context.kind.port
    of_v1 = {key: value for key, value in (difference.v1 or {}).items() if key != "hostPort"}
    if not difference.v2 and port and of_v1 == {"name": port.name}:
        return f"v1 named the port {port.name}; containers of v2 may listen on any"
    if difference.v1 is None and difference.place[1] == TRAINING and difference.place[3] == f"{PORT}/TCP":
        return "the rendezvous port of v2"
    return ""


def added_variables(difference: Difference, context: Context) -> str:
    """The reason for a variable that v2's plugins add, or to which others refer; empty where v1 had one of that name."""
    name = variable_of(difference)
    if not name or difference.v1 is not None:
        return ""
    of_plugins = (*TORCHRUN_ENVIRONMENT, *TRACKER_ENVIRONMENT, *OPEN_MPI_ENVIRONMENT, *JAX_ENVIRONMENT)
    if name in of_plugins or name == COMPLETION_INDEX_ENV:
        return "set by v2"
    return "other variables refer to it" if name in context.referenced else ""


def rendezvous_port(difference: Difference, context: Context) -> str:
    """The reason for another rendezvous port in a variable of v1's operator or in a command; all pods get the same one."""
    name, pair = variable_of(difference), difference.pair
    # A command may contain $(MASTER_PORT).
    is_program = len(difference.place) == 3 and difference.place[2] in {"program", "command", "args"}
    if pair.v1 is None or not (is_program or (name and name in context.variables.get(pair.v1.role, ()))):
        return ""
    before, after = (_without_ports(value, context.ports | {_PORT_OF_V2}) for value in (difference.v1, difference.v2))
    return "v2 has another rendezvous port" if before == after and difference.v2 is not None else ""


def own_address(difference: Difference, context: Context) -> str:
    """The reason for the name of a pod in v2 where v1 has its IP address, as a PaddleJob sets it in the pod of the rendezvous."""
    name = variable_of(difference)
    if not name or not isinstance(difference.v1, str) or not isinstance(difference.v2, str):
        return ""
    named = difference.v1.replace("<address of the pod>", difference.pair.mark)
    known = context.ports | {_PORT_OF_V2}
    is_same = named != difference.v1 and _without_ports(named, known) == _without_ports(difference.v2, known)
    return "the pod's own address, by its name" if is_same else ""


def job_name(difference: Difference, context: Context) -> str:
    """The reason for another name of the job in a variable of v1's operator."""
    name, pair = variable_of(difference), difference.pair
    if not name or pair.v1 is None or name not in context.variables.get(pair.v1.role, ()):
        return ""
    names = (context.matched.v1.job.name, context.matched.v2.jobset["metadata"]["name"])
    return "the job has another name in v2" if (difference.v1, difference.v2) == names else ""


def referenced_in_v1(difference: Difference, context: Context) -> str:
    """The reason for a variable of v1's operator that v2 lacks, and to which its other variables referred."""
    name, pair = variable_of(difference), difference.pair
    own = context.variables.get(pair.v1.role, frozenset()) if pair.v1 else frozenset()
    if difference.v2 is not None or pair.v1 is None or name not in own:
        return ""
    used = (
        f"$({name})" in str(variable.get("value", ""))
        for container in pair.v1.pod["spec"]["containers"]
        for variable in container.get("env") or []
        if variable["name"] in own
    )
    return "other variables of v1 referred to it" if any(used) else ""


def without_torchrun(difference: Difference, context: Context) -> str:
    """The reason for an option of torchrun (PET_*) in a container that does not start it."""
    name, pair = variable_of(difference), difference.pair
    if not name.startswith("PET_") or difference.place[1] != TRAINING or pair.v1 is None:
        return ""
    launch = launch_of(pair.v1)
    is_read = launch.launcher in {"torchrun", "unknown"} or any(use.name == name for use in launch.uses)
    return "" if is_read else f"only torchrun reads it, and the program is started by {launch.launcher}"


def unread_variables(difference: Difference, context: Context) -> str:
    """The reason for a variable of v1's operator that v2 lacks, in a container whose whole program is known not to read it."""
    name, pair = variable_of(difference), difference.pair
    if pair.v1 is None or difference.v2 is not None or name not in context.variables.get(pair.v1.role, ()):
        return ""
    section, called = difference.place[:2]
    container_name = pair.v1.container if called == TRAINING else called
    container = next((one for one in pair.v1.pod["spec"].get(section) or () if one["name"] == container_name), None)
    return "nothing in the container reads it" if container and reads_nothing(container, (name,)) else ""


def overridden(difference: Difference, context: Context) -> str:
    """The reason for a variable PET_* that the command line of torchrun overrides, or a range of one number."""
    name, pair = variable_of(difference), difference.pair
    if not name.startswith("PET_") or difference.place[1] != TRAINING or pair.v1 is None or pair.v2 is None:
        return ""
    if difference.v1 == f"{difference.v2}:{difference.v2}":
        return "a range of one number"
    option = name.removeprefix("PET_").lower().replace("_", "-")
    given = [launch_of(replica).main.option(option) for replica in (pair.v1, pair.v2)]
    return "overridden by an option of torchrun" if all(given) else ""


def set_by_torchrun(difference: Difference, context: Context) -> str:
    """The reason for a variable of v1 that torchrun sets for its processes, and does not read."""
    name, pair = variable_of(difference), difference.pair
    if name not in V1_VARIABLES or difference.place[1] != TRAINING or pair.v1 is None or difference.v2 is not None:
        return ""
    launch = launch_of(pair.v1)
    is_read = launch.launcher != "torchrun" or any(use.name == name for use in launch.uses)
    return "" if is_read else "torchrun sets it for its processes"


def variable_of(difference: Difference) -> str:
    """The name of the variable that the difference is about; empty for any other difference."""
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
    init_containers,
    pod_requests,
    ports,
    added_variables,
    rendezvous_port,
    own_address,
    job_name,
    referenced_in_v1,
    without_torchrun,
    unread_variables,
    overridden,
    set_by_torchrun,
)
"""The rules for all kinds of jobs; those for MPIJobs are in `mpi_expectations`."""
