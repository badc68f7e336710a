"""volumeClaimPolicies: claims that live with the JobSet, or outlive it."""

from __future__ import annotations

from shunter.api.jobset import JOBSET_NAME, JobSet
from shunter.api.meta import Json
from shunter.cluster.controllers.jobset.names import claim_name, owner


def claims_of(jobset: JobSet) -> list[Json]:
    """The claims as they are created. Those not to be deleted with the JobSet have no owner."""
    claims = []
    for policy in jobset.spec.volume_claim_policies:
        for template in policy.templates:
            source: Json = template.get("metadata") or {}
            metadata: Json = {
                "name": claim_name(jobset, source.get("name", "")),
                "namespace": jobset.metadata.namespace,
                "labels": {**(source.get("labels") or {}), JOBSET_NAME: jobset.metadata.name},
            }
            if source.get("annotations"):
                metadata["annotations"] = source["annotations"]
            if policy.retention_policy is not None and policy.retention_policy.when_deleted == "Delete":
                metadata["ownerReferences"] = [owner(jobset)]
            spec = template.get("spec") or {}
            claims.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
    return claims
