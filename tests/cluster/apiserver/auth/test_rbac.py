"""What roles allow."""

from __future__ import annotations

from cluster.api_server import RunningApiServer
from cluster.apiserver.http_client import Api, client, whoami


async def test_who_is_no_admin_may_only_look_around(api_server: RunningApiServer, api: Api, namespace: str) -> None:
    await api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "worker"}})
    answer = await api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts/worker/token", {"spec": {}})
    async with client(api_server, token=answer["status"]["token"]) as worker:
        name, groups = await whoami(worker)
        refused = await worker.request("GET", f"/api/v1/namespaces/{namespace}/pods/p")
        assert (await worker.request("GET", "/apis")).code == 200
    assert name == f"system:serviceaccount:{namespace}:worker"
    assert groups == ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    assert refused.code == 403
    assert refused.body["message"] == (
        f'pods "p" is forbidden: User "system:serviceaccount:{namespace}:worker" cannot get resource "pods" '
        f'in API group "" in the namespace "{namespace}"'
    )


async def test_a_role_for_one_name_or_for_a_namespace_holds_as_on_a_real_server(
    api_server: RunningApiServer, api: Api, namespace: str
) -> None:
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    await api.create(accounts, {"metadata": {"name": "worker"}})
    rules = [
        {"verbs": ["list", "watch"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["one"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["namespaces"]},
    ]
    await api.create(f"{roles}/roles", {"metadata": {"name": "r"}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    subject = {"kind": "ServiceAccount", "name": "worker", "namespace": namespace}
    await api.create(f"{roles}/rolebindings", {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [subject]})
    token = (await api.create(f"{accounts}/worker/token", {"spec": {}}))["status"]["token"]
    config_maps = f"/api/v1/namespaces/{namespace}/configmaps"
    paths = {
        f"{config_maps}?fieldSelector=metadata.name=one": 200,
        f"{config_maps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name=one": 200,
        f"{config_maps}?fieldSelector=metadata.name=two": 403,
        f"{config_maps}?fieldSelector=metadata.name!=one": 403,
        config_maps: 403,
        f"/api/v1/namespaces/{namespace}": 200,
        "/api/v1/namespaces/default": 403,
        f"/api/v1/namespaces?fieldSelector=metadata.name={namespace}": 403,
    }
    async with client(api_server, token=token) as worker:
        assert {path: (await worker.request("GET", path)).code for path in paths} == paths
