"""Prints the logs of one or all ranks of a job, once or until the job ends."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.core import container_statuses
from shunter.api.meta import Json
from shunter.cli.options.log_options import LogOptions, attempts
from shunter.cli.output.console import say
from shunter.cli.output.display import SingleRankDisplay, display
from shunter.errors import EnvironmentProblem, InputError
from shunter.jobs.following.follower import JobFollower
from shunter.jobs.following.pipe_display import Display
from shunter.jobs.jobsets import jobsets_of_all
from shunter.jobs.lookup import find, pods_of
from shunter.jobs.rank_states import rank_states, unknown_rank
from shunter.jobs.training_pods import created_at, is_added_without_failure
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, BadRequest, NotFound
from shunter.kube.pods.log_reading import LogPart, log_lines
from shunter.operator.overview import is_v1, overview
from shunter.operator.pod_places import Members


async def print_logs(client: Client, name: str, namespace: str, rank: int | None, *, follow: bool, options: LogOptions) -> None:
    """Raises InputError if there is no pod with logs, and EnvironmentProblem, after printing the others, if the logs of some
    containers could not be read."""
    part = options.part(follow=follow)
    async with client:
        resource, job = await find(client, name, namespace)
        pods = await pods_of(client, job)
        members = Members(job, pods)
        if rank is not None:
            await _refuse_unknown_rank(client, job, pods, rank)
        if follow and not overview(job).is_finished:
            screen = SingleRankDisplay(display(), rank)
            await JobFollower(client, resource, job, screen, part=part, started=attempts(pods)).run()
            return
        chosen = [pod for pod in pods if rank is None or members.of(pod).rank == rank]
        if not chosen:
            raise InputError(no_pods(job, rank), f"See: shunter describe {name}")
        if not await _print_pods(client, members, chosen, part, display()):
            say(no_lines(job, chosen, options))


async def _refuse_unknown_rank(client: Client, job: Json, pods: Sequence[Json], rank: int) -> None:
    jobset = (await jobsets_of_all(client, [job], job["metadata"]["namespace"])).get(job["metadata"]["uid"])
    number = len(rank_states(job, pods, jobset))
    if not 0 <= rank < number:
        raise unknown_rank(job, rank, number)


async def _print_pods(client: Client, members: Members, pods: Sequence[Json], part: LogPart, screen: Display) -> bool:
    """Prints the logs by rank. Returns whether there was a line."""
    has_lines, unread = False, []
    for pod in sorted(pods, key=lambda pod: (members.of(pod).rank or 0, created_at(pod))):
        for container in container_statuses(pod):
            if is_added_without_failure(container):
                continue
            try:
                async for line in log_lines(client, pod, container["name"], part):
                    screen.log(members.of(pod), container["name"], line)
                    has_lines = True
            except (NotFound, BadRequest):
                continue  # it has not started, or has not run before
            except ApiError as error:
                unread.append(f"{members.of(pod).label} {container['name']}")
                screen.problem(f"no log of pod {pod['metadata']['name']}, container {container['name']}: {error.message}")
    if unread:
        raise EnvironmentProblem(f"the logs of {', '.join(unread)} could not be read.", "See the reasons above.")
    return has_lines


def no_pods(job: Json, rank: int | None) -> str:
    """Why a job, or one rank of it, has no pod with logs."""
    row = overview(job)
    title = row.title
    whose = f"{title} has no pod of rank {rank}" if rank is not None else f"{title} has no pods"
    if row.is_finished:
        kept = "; spec.runPolicy.cleanPodPolicy: None keeps them" if is_v1(job) else ""
        return f"{whose}: it has {row.state.lower()}, and the logs were deleted with its pods{kept}."
    if row.state == "Suspended":
        return f"{whose}: it is suspended, and the logs were deleted with its pods."
    return f"{whose} yet."


def no_lines(job: Json, pods: Sequence[Json], options: LogOptions) -> str:
    """Why existing pods have no lines to print."""
    name = job["metadata"]["name"]
    if not attempts(pods):
        return f"no container of job {name!r} has started; see why: shunter describe {name}"
    if options.previous:
        return (
            f"no container of job {name!r} has run before: none was restarted in its pod. "
            "The logs of a pod that was replaced are deleted with it."
        )
    if options.tail == 0:
        return "no lines: --tail 0 omits the existing ones"
    if options.since:
        return f"no line was written in the last {options.since}"
    return f"the pods of job {name!r} have printed nothing{'' if overview(job).is_finished else ' yet'}"
