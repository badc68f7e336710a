"""maxSurge and maxUnavailable: how many pods more, or fewer available ones, a rollout may have."""

from __future__ import annotations

from shunter.api.apps import Deployment
from shunter.cluster.controllers.workloads.shares import share


def max_surge(deployment: Deployment) -> int:
    """Pods beyond `replicas`."""
    return (
        share(deployment.spec.strategy.rolling_update.max_surge, deployment.spec.replicas, up=True)
        if deployment.is_rolling
        else 0
    )


def max_unavailable(deployment: Deployment) -> int:
    """Pods of `replicas` that may be missing; at least one where there may be none more either."""
    replicas = deployment.spec.replicas
    if not deployment.is_rolling or replicas == 0:
        return 0
    unavailable = share(deployment.spec.strategy.rolling_update.max_unavailable, replicas, up=False)
    if unavailable == 0 and max_surge(deployment) == 0:
        unavailable = 1
    return min(unavailable, replicas)
