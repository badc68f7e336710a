"""Checks our own permissions with SelfSubjectAccessReviews."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import SELF_SUBJECT_ACCESS_REVIEWS, Resource
from shunter.errors import EnvironmentProblem
from shunter.kube.client import Client


class Request(NamedTuple):
    """A verb on a resource; an empty namespace means cluster-wide. The plural may name a subresource: `pods/log`."""

    verb: str
    resource: Resource
    namespace: str

    @property
    def object(self) -> str:
        """`roles.rbac.authorization.k8s.io in namespace team-a`."""
        group = f".{self.resource.group}" if self.resource.group else ""
        return f"{self.resource.plural}{group}" + (f" in namespace {self.namespace}" if self.namespace else "")


async def allowed(client: Client, requests: Iterable[Request]) -> dict[Request, bool]:
    """Whether each request may be made, in the requests' order."""
    wanted = sorted(set(requests))
    answers = await asyncio.gather(*(_is_allowed(client, request) for request in wanted))
    return dict(zip(wanted, answers, strict=True))


async def require(client: Client, requests: Iterable[Request], remedy: str) -> None:
    """EnvironmentProblem naming every request that this user may not make."""
    refused = [request for request, is_allowed in (await allowed(client, requests)).items() if not is_allowed]
    if refused:
        raise EnvironmentProblem(f"no permission to {listed(refused)}.", remedy)


def listed(requests: Iterable[Request]) -> str:
    """`create/patch trainjobs.trainer.kubeflow.org in namespace team-a, list nodes`."""
    verbs: dict[str, list[str]] = {}
    for request in sorted(requests):
        verbs.setdefault(request.object, []).append(request.verb)
    return ", ".join(f"{'/'.join(named)} {what}" for what, named in sorted(verbs.items()))


async def _is_allowed(client: Client, request: Request) -> bool:
    plural, _, subresource = request.resource.plural.partition("/")
    attributes = {"verb": request.verb, "group": request.resource.group, "resource": plural}
    if subresource:
        attributes["subresource"] = subresource
    if request.namespace:
        attributes["namespace"] = request.namespace
    review = SELF_SUBJECT_ACCESS_REVIEWS.typed({"spec": {"resourceAttributes": attributes}})
    answer: Json = await client.create(SELF_SUBJECT_ACCESS_REVIEWS, review)
    return bool(answer["status"]["allowed"])
