"""Why a job's objects cannot be made, and what to do about it: the condition `Created=False`, which goes with its reason.

Ours, not upstream's, which only tells it in events; those are gone after an hour.
"""

from __future__ import annotations

from shunter.api.jobset import LONGEST_POD_NAME, longest_name_of
from shunter.api.meta import Condition
from shunter.api.resources import JOBSETS, Resource
from shunter.api.scheduling.podgroups import VOLCANO_POD_GROUPS
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.controllers.plan import Apply, Create, Failure, Patch
from shunter.operator.trainer.model import BuildError
from shunter.operator.trainer.snapshot import snapshot_name

CREATED = "Created"
GOES_ON = "the TrainJob then continues."
LONGEST_MESSAGE = 4096
"""Characters; a condition may have 32768, and a JobSet that is refused is quoted in full."""


def not_installed(resource: Resource) -> Condition:
    """The cluster does not serve a kind that the job needs."""
    served = f"The cluster does not serve {resource.full_name} ({resource.api_version})"
    if resource == JOBSETS:
        return not_created("JobSetNotInstalled", f"{served}. Install JobSet; {GOES_ON}")
    scheduler = "Volcano" if resource == VOLCANO_POD_GROUPS else "the coscheduling plugin of scheduler-plugins"
    return not_created(
        "PodGroupNotInstalled",
        f"{served}, which spec.podGroupPolicy of its runtime requires. Install {scheduler}, or remove "
        f"podGroupPolicy from the runtime; {GOES_ON}",
    )


def unbuildable(job: TrainJob, error: BuildError, *, has_snapshot: bool) -> Condition:
    """The runtime is not there, or nothing can be made of it."""
    remedy = error.remedy or "Correct the runtime."
    if has_snapshot:
        config_map = snapshot_name(job.metadata.name)
        remedy = f"{error.remedy} Correct data.runtime of the ConfigMap {config_map}, or delete it to use the current runtime"
    return not_created(error.reason, f"{_sentence(error.message)} {remedy.removesuffix('.').strip()}; {GOES_ON}")


def refused(failure: Failure) -> Condition | None:
    """The API server has refused an object, or the suspension of the JobSet; None for other writes."""
    write = failure.write
    if isinstance(write, Patch):
        message = f"JobSet {write.ref.name} could not be suspended, and its pods run on: {_sentence(failure.message)}"
        return not_created(
            "SuspensionRefused", f"{message} Change what the message names; the JobSet is then suspended by itself."
        )
    if not isinstance(write, Apply | Create):
        return None
    what = f"{write.resource.kind} {write.body['metadata']['name']}"
    return not_created("ObjectRefused", f"{what} was rejected: {_sentence(failure.message)} {_remedy(failure.message, write)}")


def _remedy(message: str, write: Apply | Create) -> str:
    if write.resource == JOBSETS and f"exceed {LONGEST_POD_NAME} characters" in message:
        return (
            "Names of its pods are made from metadata.name: with this runtime it may have at most "
            f"{longest_name_of(write.body)} characters. Create the TrainJob again with a shorter name."
        )
    return f"Change the TrainJob, its runtime or what else the message names; {GOES_ON}"


def not_created(reason: str, message: str) -> Condition:
    """The condition `Created=False`; a long message loses its middle."""
    if len(message) > LONGEST_MESSAGE:
        half = LONGEST_MESSAGE // 2
        message = f"{message[:half]} ... {message[-half:]}"
    return Condition(type=CREATED, status="False", reason=reason, message=message)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
