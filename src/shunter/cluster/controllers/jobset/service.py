"""The headless service that gives a JobSet's pods their host names."""

from __future__ import annotations

from shunter.api.jobset import JOBSET_NAME, JobSet
from shunter.api.meta import Json
from shunter.cluster.controllers.jobset.names import has_host_names, owner, subdomain


def service_of(jobset: JobSet) -> Json | None:
    """The service as it is created; None when the JobSet wants no host names."""
    if not has_host_names(jobset):
        return None
    network = jobset.spec.network
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": subdomain(jobset),
            "namespace": jobset.metadata.namespace,
            "ownerReferences": [owner(jobset)],
        },
        "spec": {
            "clusterIP": "None",
            "selector": {JOBSET_NAME: jobset.metadata.name},
            "publishNotReadyAddresses": network is None or network.publish_not_ready_addresses is not False,
        },
    }
