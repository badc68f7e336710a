"""I/O layer: looks at every autoscaler each period, with its target's scale and metrics as the server has them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from logging import getLogger
from typing import TypeVar

import msgspec

from shunter.api.meta import Struct
from shunter.api.resources import HORIZONTAL_POD_AUTOSCALERS, PODS, Resource
from shunter.cluster.controllers.autoscaling import plan as rules
from shunter.cluster.controllers.autoscaling.limits import History
from shunter.cluster.controllers.autoscaling.plan import Observed
from shunter.cluster.controllers.autoscaling.proposals import Sources
from shunter.cluster.controllers.autoscaling.views import Autoscaler, PodMetricsList, Scale, ScaledPod
from shunter.kube.cache.informer import Informer
from shunter.kube.cache.store import key_of
from shunter.kube.client import Client
from shunter.kube.controllers.executor import Executor
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Key
from shunter.kube.discovery import Discovery
from shunter.kube.errors import ApiError

log = getLogger(__name__)

T = TypeVar("T", bound=Struct)

COMPONENT = "horizontal-pod-autoscaler"
PERIOD = 15.0
"""Seconds between two looks, as kube-controller-manager's."""
METRICS = "/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods"


def register(manager: Manager, client: Client, *, period: float = PERIOD) -> None:
    """Adds the autoscaler."""
    autoscalers = manager.informer(HORIZONTAL_POD_AUTOSCALERS, Autoscaler)
    loop = AutoscalerLoop(client, autoscalers, Executor(client, manager.recorder(COMPONENT)), period=period)
    manager.background("autoscaler", loop.run)


class AutoscalerLoop:
    """One look after the other; `History` is lost with the process, as kube-controller-manager's is."""

    def __init__(self, client: Client, autoscalers: Informer[Autoscaler], executor: Executor, *, period: float) -> None:
        self._client = client
        self._autoscalers = autoscalers
        self._executor = executor
        self._period = period
        self._histories: dict[Key, History] = {}

    async def run(self) -> None:
        """Works until it is cancelled."""
        await self._autoscalers.wait_synced()
        while True:
            found = {key_of(autoscaler): autoscaler for autoscaler in self._autoscalers.store.list()}
            self._histories = {key: history for key, history in self._histories.items() if key in found}
            discovery = Discovery(self._client)
            for key, autoscaler in found.items():
                try:
                    await self._look(key, autoscaler, discovery)
                except ApiError as error:
                    log.warning("autoscaler %s: %s", key, error.message)
                except Exception:
                    log.exception("internal error while reconciling autoscaler %s", key)
            await asyncio.sleep(self._period)

    async def _look(self, key: Key, autoscaler: Autoscaler, discovery: Discovery) -> None:
        observed = await self._observe(key, autoscaler, discovery)
        decision = rules.decide(observed, datetime.now(UTC))
        outcome = await self._executor.execute(decision.plan)
        if outcome.failure is None:
            self._histories[key] = decision.history
        elif outcome.failure.reason != "Conflict":
            await self._executor.execute(rules.failed(observed, outcome.failure, datetime.now(UTC)))

    async def _observe(self, key: Key, autoscaler: Autoscaler, discovery: Discovery) -> Observed:
        target = autoscaler.spec.scale_target_ref
        group = target.api_version.rpartition("/")[0]
        history = self._histories.get(key, History())
        served = await discovery.resources(target.api_version)
        resource = next((one for one in served if one.kind == target.kind), None)
        if resource is None:
            problem = f'no matches for kind "{target.kind}" in group "{group}"'
            return Observed(autoscaler=autoscaler, problem=problem, history=history)
        try:
            scale = await self._get(resource.path(key.namespace, target.name, "scale"), Scale)
        except ApiError as error:
            return Observed(autoscaler=autoscaler, problem=error.message, history=history)
        return Observed(
            autoscaler=autoscaler,
            target=resource,
            scale=scale,
            sources=await self._sources(key.namespace, scale.status.selector, resource),
            rivals=self._rivals(autoscaler),
            history=history,
        )

    async def _sources(self, namespace: str, selector: str, resource: Resource) -> Sources:
        if not selector:
            return Sources()
        listed = await self._client.list(PODS, namespace, view=ScaledPod, label_selector=selector)
        try:
            metrics = await self._get(METRICS.format(namespace=namespace), PodMetricsList, labelSelector=selector)
        except ApiError as error:
            problem = f"unable to fetch metrics from resource metrics API: {error.message}"
            return Sources(tuple(listed.items), (), problem)
        return Sources(tuple(listed.items), metrics.items)

    async def _get(self, path: str, view: type[T], **params: str) -> T:
        body = await self._client.raw("GET", path, params=params)
        return msgspec.json.decode(body, type=view)

    def _rivals(self, autoscaler: Autoscaler) -> tuple[str, ...]:
        """The autoscalers of the same target."""
        target, namespace = autoscaler.spec.scale_target_ref, autoscaler.metadata.namespace
        same = (one for one in self._autoscalers.store.list() if one.spec.scale_target_ref == target)
        return tuple(sorted(one.metadata.name for one in same if one.metadata.namespace == namespace))
