"""What clients discover: the same resources, verbs and names in every form, and documents that say when they change."""

from __future__ import annotations

from typing import Any

from cluster.apiserver.http_client import Api

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
Json = dict[str, Any]


async def aggregated(api: Api) -> dict[tuple[str, str, str], Json]:
    found = {}
    for path in ("/api", "/apis"):
        answer = await api.request("GET", path, Accept=AGGREGATED)
        assert answer.headers["Content-Type"].startswith("application/json;g=apidiscovery.k8s.io;v=v2")
        for group in answer.body["items"]:
            for version in group["versions"]:
                for resource in version["resources"]:
                    found[group["metadata"].get("name", ""), version["version"], resource["resource"]] = resource
    return found


async def test_aggregated_and_legacy_discovery_agree(api: Api) -> None:
    for (group, version, plural), resource in (await aggregated(api)).items():
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        legacy = {entry["name"]: entry for entry in (await api.get(root))["resources"]}
        entry = legacy[plural]
        assert entry["kind"] == resource["responseKind"]["kind"]
        assert entry["verbs"] == resource["verbs"]
        assert entry["namespaced"] == (resource["scope"] == "Namespaced")
        assert entry.get("shortNames") == resource.get("shortNames")
        below = {name.partition("/")[2] for name in legacy if name.startswith(f"{plural}/")}
        assert below == {sub["subresource"] for sub in resource.get("subresources", ())}


async def test_pods_and_jobs_are_discovered_as_on_a_real_server(api: Api) -> None:
    found = await aggregated(api)
    pods = found["", "v1", "pods"]
    assert (pods["shortNames"], pods["categories"]) == (["po"], ["all"])
    assert {"binding", "eviction", "log", "status"} <= {sub["subresource"] for sub in pods["subresources"]}
    namespaces = found["", "v1", "namespaces"]
    assert "deletecollection" not in namespaces["verbs"]
    assert found["kubeflow.org", "v1", "pytorchjobs"]["responseKind"]["group"] == "kubeflow.org"


async def test_unchanged_documents_are_not_sent_again(api: Api) -> None:
    first = await api.request("GET", "/apis", Accept=AGGREGATED)
    again = await api.request("GET", "/apis", Accept=AGGREGATED, If_None_Match=first.headers["ETag"])
    assert again.code == 304


async def test_every_group_version_has_an_openapi_document_with_its_kinds(api: Api) -> None:
    index = await api.get("/openapi/v3")
    assert {"api/v1", "apis/batch/v1", "apis/trainer.kubeflow.org/v1alpha1"} <= index["paths"].keys()
    for path in ("api/v1", "apis/trainer.kubeflow.org/v1alpha1"):
        url = index["paths"][path]["serverRelativeURL"]
        assert "?hash=" in url
        document = await api.get(url)
        text = str(document)
        schemas = document["components"]["schemas"]
        referred = {part.split("'")[0] for part in text.split("'$ref': '#/components/schemas/")[1:]}
        assert referred <= schemas.keys(), "every reference leads somewhere"
    train_job = schemas["org.kubeflow.trainer.v1alpha1.TrainJob"]
    assert train_job["x-kubernetes-group-version-kind"][0]["kind"] == "TrainJob"


async def test_patch_operations_say_which_queries_they_take(api: Api) -> None:
    """kubectl asks for fieldValidation and dryRun only where the document has them."""
    document = await api.get("/openapi/v3/apis/batch/v1")
    patch = document["paths"]["/apis/batch/v1/namespaces/{namespace}/jobs/{name}"]["patch"]
    assert {"dryRun", "fieldManager", "fieldValidation", "force"} <= {p["name"] for p in patch["parameters"]}
    assert patch["x-kubernetes-group-version-kind"] == {"group": "batch", "version": "v1", "kind": "Job"}
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]


async def test_swagger_for_old_clients(api: Api) -> None:
    document = await api.get("/openapi/v2")
    assert document["swagger"] == "2.0"
    assert "io.k8s.api.core.v1.Pod" in document["definitions"]
    assert "#/components" not in str(document)


async def test_a_terminating_namespace_goes_when_it_is_finalized(api: Api, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}"
    deleted = await api.request("DELETE", path)
    assert (deleted.code, deleted.body["status"]["phase"]) == (200, "Terminating")
    found = await api.get(path)
    found["spec"]["finalizers"] = []
    finalized = await api.request("PUT", f"{path}/finalize", found)
    assert finalized.code == 200
    assert (await api.request("GET", path)).code == 404


async def test_requests_are_counted(api: Api) -> None:
    await api.get("/api/v1/namespaces")
    text = (await api.request("GET", "/metrics")).body
    assert 'apiserver_request_total{verb="LIST",group="",resource="namespaces",code="200"}' in text
    assert 'apiserver_storage_objects{resource="namespaces"}' in text
