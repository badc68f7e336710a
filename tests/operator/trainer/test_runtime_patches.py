"""runtimePatches: a later one wins; lists of named things merge and keep their order, and all others are replaced."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobset_parts import replicated_job
from shunter.api.meta import Json
from shunter.cluster.apiserver.packaged_schemas import definitions
from shunter.operator.trainer.go_encoding import STRING_MAPS
from shunter.operator.trainer.model import BuildError
from shunter.operator.trainer.render import jobset_for
from shunter.operator.trainer.runtime_patches import MERGE_KEYS, merged_jobset_spec
from trainer_plans import MakeRuntime, MakeTrainJob


def test_patches_apply_in_their_order(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime) -> None:

    def patch(manager: str, pool: str) -> Json:
        pod = {"metadata": {"labels": {"pool": pool}}, "spec": {"nodeSelector": {"pool": pool, manager: "1"}}}
        jobs = [{"name": "node", "template": {"spec": {"template": pod}}}]
        template = {"metadata": {"labels": {"who": manager}}, "spec": {"replicatedJobs": jobs}}
        return {"manager": f"{manager}.io/x", "trainingRuntimeSpec": {"template": template}}

    jobset = jobset_for(make_trainjob(runtimePatches=[patch("z", "first"), patch("a", "second")]), make_runtime())
    pod = replicated_job(jobset)["template"]["spec"]["template"]
    assert jobset["metadata"]["labels"] == {"who": "a"}
    assert pod["spec"]["nodeSelector"] == {"pool": "second", "z": "1", "a": "1"}
    assert pod["metadata"]["labels"] == {"pool": "second"}


def named(*names: str, **more: Any) -> list[Json]:
    return [{"name": name, **more} for name in names]


@pytest.mark.parametrize(
    ("original", "patch", "wanted"),
    [
        pytest.param("ABCD", "DxB", "ACDxB", id="the patch's order, others before what came later"),
        pytest.param("123", "931", "9231", id="a new entry stays where the patch has it"),
        pytest.param("n12", "21", "n21", id="others first"),
        pytest.param("b", "u", "ub", id="new entries before all others"),
        pytest.param("", "ab", "ab", id="into nothing"),
        pytest.param("ab", "", "ab", id="an empty list says nothing"),
    ],
)
def test_named_lists_merge_in_kubernetes_order(original: str, patch: str, wanted: str) -> None:
    merged = merged_jobset_spec({"env": named(*original)}, {"env": named(*patch)})
    assert "".join(item["name"] for item in merged["env"]) == wanted


def test_entries_of_one_name_merge_field_by_field() -> None:
    original = {"containers": [{"name": "a", "image": "i", "securityContext": {"runAsUser": 1, "privileged": False}}]}
    patch = {"containers": [{"name": "a", "securityContext": {"runAsUser": 2}}]}
    merged = merged_jobset_spec(original, patch)
    assert merged["containers"] == [{"name": "a", "image": "i", "securityContext": {"runAsUser": 2, "privileged": False}}]


def test_a_patched_volume_keeps_its_old_source() -> None:
    """As upstream; the API server refuses the pods then."""
    merged = merged_jobset_spec(
        {"volumes": named("v", emptyDir={"medium": "Memory"})}, {"volumes": named("v", hostPath={"path": "/v"})}
    )
    assert merged["volumes"] == [{"name": "v", "emptyDir": {"medium": "Memory"}, "hostPath": {"path": "/v"}}]


def test_mounts_merge_by_path_and_tolerations_are_replaced() -> None:
    original = {"volumeMounts": [{"name": "x", "mountPath": "/a"}], "tolerations": named("t")}
    merged = merged_jobset_spec(original, {"volumeMounts": [{"name": "x", "mountPath": "/b"}], "tolerations": named("u")})
    assert [mount["mountPath"] for mount in merged["volumeMounts"]] == ["/b", "/a"]
    assert merged["tolerations"] == named("u")


def test_empty_values_say_nothing_but_empty_objects_and_an_empty_service_account_do() -> None:
    original = {"hostname": "a", "serviceAccountName": "a", "tolerations": named("t")}
    patch: Json = {"hostname": "", "serviceAccountName": "", "tolerations": [], "affinity": {}, "nodeSelector": None}
    assert merged_jobset_spec(original, patch) == {**original, "serviceAccountName": "", "affinity": {}}


def test_an_empty_value_of_a_map_is_a_value() -> None:
    original = {"nodeSelector": {"zone": "a"}}
    patch = {"nodeSelector": {"node-role.kubernetes.io/gpu": ""}, "metadata": {"labels": {"plain": ""}}}
    assert merged_jobset_spec(original, patch) == {
        "nodeSelector": {"zone": "a", "node-role.kubernetes.io/gpu": ""},
        "metadata": {"labels": {"plain": ""}},
    }


def test_finalizers_are_added_to_those_that_are_there() -> None:
    assert merged_jobset_spec({"finalizers": ["a/b"]}, {"finalizers": ["c/d", "a/b"]}) == {"finalizers": ["c/d", "a/b"]}
    assert merged_jobset_spec({"finalizers": ["a/b"]}, {"finalizers": ["c/d"]}) == {"finalizers": ["c/d", "a/b"]}


def test_items_of_one_key_in_a_patch_are_one_item() -> None:
    patch = {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}
    assert merged_jobset_spec({}, patch) == patch
    assert merged_jobset_spec({"env": named("A")}, patch) == {"env": [{"name": "A", "value": "2"}]}


def test_items_without_their_key_cannot_be_merged() -> None:
    with pytest.raises(BuildError, match="does not contain declared merge key: name"):
        merged_jobset_spec({"env": named("A")}, {"env": [{"value": "1"}]})


def test_a_patch_that_is_nested_too_deeply_is_refused() -> None:
    deep: Any = "bottom"
    for _ in range(5000):
        deep = {"a": [deep]}
    with pytest.raises(BuildError, match="nested too deeply"):
        merged_jobset_spec({}, {"affinity": deep})


def test_the_tables_say_what_the_schemas_of_kubernetes_say() -> None:
    merge_keys: dict[str, str] = {}
    replaced: set[str] = set()
    maps: set[str] = set()
    done: set[int] = set()

    def resolved(schema: Json) -> Json:
        while found := schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ()) if "$ref" in part), None):
            schema = definitions()[found.rpartition("/")[2]]
        return schema

    def walk(schema: Json) -> None:
        schema = resolved(schema)
        if id(schema) in done:
            return
        done.add(id(schema))
        for name, declared in schema.get("properties", {}).items():
            value = resolved(declared)
            if value.get("type") == "array":
                if "merge" in declared.get("x-kubernetes-patch-strategy", "").split(","):
                    key = declared.get("x-kubernetes-patch-merge-key", "")
                    assert merge_keys.setdefault(name, key) == key, name
                else:
                    replaced.add(name)
                walk(value["items"])
            elif "additionalProperties" in value:
                of = resolved(value["additionalProperties"])
                if of.get("type") == "string":
                    maps.add(name)
            else:
                walk(value)

    walk(definitions()["io.k8s.api.batch.v1.JobTemplateSpec"])
    of_jobset = {"replicatedJobs": "name", "dependsOn": "name"}
    assert merge_keys | of_jobset == MERGE_KEYS
    assert not replaced & set(MERGE_KEYS)
    assert maps == STRING_MAPS


names = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(names, names)
def test_a_merge_holds_everything_once_changes_no_input_and_repeats_itself(original: list[str], patch: list[str]) -> None:
    before = {"env": named(*original, value="old")}
    change = {"env": named(*patch, value="new")}
    kept = copy.deepcopy((before, change))
    merged = merged_jobset_spec(before, change)
    assert (before, change) == kept
    found = {item["name"]: item["value"] for item in merged["env"]}
    assert len(found) == len(merged["env"])
    assert found == {name: "new" if name in patch else "old" for name in {*original, *patch}}
    assert merged_jobset_spec(merged, change) == merged
