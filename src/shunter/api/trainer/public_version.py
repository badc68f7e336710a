"""The object by which clients see which Kubeflow Trainer a cluster serves: the SDK looks for it and warns when it is not there.

Source: Trainer v2.3 `manifests/base`: readable by everybody who may log in, and nothing else is.
"""

from __future__ import annotations

from shunter.api.meta import Json

NAME = "kubeflow-trainer-public"
SYSTEM_NAMESPACE = "kubeflow-system"
"""Where the SDK looks, unless KUBEFLOW_SYSTEM_NAMESPACE says otherwise."""
CONFIG_MAP: Json = {"data": {"kubeflow_trainer_version": "v2.3.0"}}
"""The release whose API and behaviour we have."""
ROLE: Json = {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [NAME], "verbs": ["get"]}]}
ROLE_BINDING: Json = {
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}],
}
