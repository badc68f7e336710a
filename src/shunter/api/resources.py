"""Every resource we read or write, by group, version and plural: the one table that URLs come from.

Only job kinds of kubeflow.org/v1 have theirs in their own modules (`shunter.api.training`).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Resource(NamedTuple):
    """One resource of an API server, e.g. `Resource("batch", "v1", "Job", "jobs")`."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """`v1` for the core group, else `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_name(self) -> str:
        """`jobs.batch`, and `pods` of the core group: as kubectl takes it, and as its CustomResourceDefinition is named."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def root(self) -> str:
        """`/api/v1` or `/apis/group/version`."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def typed(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """An object of the kind, or a reference to one, with these fields. The API server leaves apiVersion and kind out of the
        items of a list."""
        return {"apiVersion": self.api_version, "kind": self.kind, **fields}

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of a collection (no name), an object, or a subresource. An empty namespace means all of them."""
        parts = [self.root]
        if self.namespaced and namespace:
            parts.append(f"namespaces/{namespace}")
        parts.append(self.plural)
        if name:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
NODES = Resource("", "v1", "Node", "nodes", namespaced=False)
PODS = Resource("", "v1", "Pod", "pods")
POD_LOGS = PODS._replace(plural="pods/log")
SERVICES = Resource("", "v1", "Service", "services")
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps")
SECRETS = Resource("", "v1", "Secret", "secrets")
SERVICE_ACCOUNTS = Resource("", "v1", "ServiceAccount", "serviceaccounts")
PERSISTENT_VOLUME_CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
PERSISTENT_VOLUMES = Resource("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
CORE_EVENTS = Resource("", "v1", "Event", "events")
EVENTS = Resource("events.k8s.io", "v1", "Event", "events")
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments")
REPLICA_SETS = Resource("apps", "v1", "ReplicaSet", "replicasets")
REPLICATION_CONTROLLERS = Resource("", "v1", "ReplicationController", "replicationcontrollers")
STATEFUL_SETS = Resource("apps", "v1", "StatefulSet", "statefulsets")
DAEMON_SETS = Resource("apps", "v1", "DaemonSet", "daemonsets")
CONTROLLER_REVISIONS = Resource("apps", "v1", "ControllerRevision", "controllerrevisions")
LIMIT_RANGES = Resource("", "v1", "LimitRange", "limitranges")
RESOURCE_QUOTAS = Resource("", "v1", "ResourceQuota", "resourcequotas")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "Role", "roles")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)
NETWORK_POLICIES = Resource("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
LEASES = Resource("coordination.k8s.io", "v1", "Lease", "leases")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)
RUNTIME_CLASSES = Resource("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False)
JOBS = Resource("batch", "v1", "Job", "jobs")
CRON_JOBS = Resource("batch", "v1", "CronJob", "cronjobs")
POD_DISRUPTION_BUDGETS = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets")
ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
HORIZONTAL_POD_AUTOSCALERS = Resource("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False)
SUBJECT_ACCESS_REVIEWS = Resource("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False)
SELF_SUBJECT_ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)
CERTIFICATE_SIGNING_REQUESTS = Resource(
    "certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", namespaced=False
)
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
MUTATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False
)
VALIDATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", namespaced=False
)
VALIDATING_POLICIES = Resource(
    "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", namespaced=False
)
VALIDATING_POLICY_BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)
MUTATING_POLICIES = Resource(
    "admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies", namespaced=False
)
MUTATING_POLICY_BINDINGS = Resource(
    "admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", namespaced=False
)
TRAIN_JOBS = Resource("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs")
TRAINING_RUNTIMES = Resource("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime", "trainingruntimes")
CLUSTER_TRAINING_RUNTIMES = Resource(
    "trainer.kubeflow.org", "v1alpha1", "ClusterTrainingRuntime", "clustertrainingruntimes", namespaced=False
)
