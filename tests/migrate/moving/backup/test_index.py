"""The index of a backup: what it says of objects, and what of it is not believed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.migrate.conversion.cleaning import digest_of
from shunter.migrate.moving.backup.index import FORMAT, Entry, Index, needs_of, read_entry, read_index, state_of

CONTENT = b"kind: PyTorchJob\n"


def entry(file: str = "team/bert.yaml", sha256: str = digest_of(CONTENT)) -> Entry:
    return Entry(file=file, sha256=sha256, api_version="kubeflow.org/v1", kind="PyTorchJob", name="bert", namespace="team")


def written(folder: Path, index: Index) -> None:
    (folder / "index.yaml").write_bytes(msgspec.yaml.encode(index))


def index(format: int = FORMAT) -> Index:
    return Index(format=format, tool="shunter", server="s", made="2026-11-21T12:00:00Z", verified=True, objects=(entry(),))


def test_an_index_is_read_as_it_was_written(tmp_path: Path) -> None:
    written(tmp_path, index())
    assert read_index(tmp_path) == index()


def test_what_is_no_index_or_one_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file") as refusal:
        read_index(tmp_path)
    assert "shunter migrate backup" in refusal.value.remedy
    (tmp_path / "index.yaml").write_text("- a\n")
    with pytest.raises(InputError, match="not the index of a backup"):
        read_index(tmp_path)
    written(tmp_path, index(FORMAT + 1))
    with pytest.raises(InputError, match=f"format is {FORMAT + 1}; this version reads up to {FORMAT}"):
        read_index(tmp_path)


@pytest.mark.parametrize("file", ["../bert.yaml", "/etc/passwd", "team/../../bert.yaml", "link/bert.yaml"])
def test_no_file_outside_of_the_backup_is_read(tmp_path: Path, file: str) -> None:
    inside = tmp_path / "backup"
    inside.mkdir()
    (tmp_path / "bert.yaml").write_bytes(CONTENT)
    (inside / "link").symlink_to(tmp_path)
    with pytest.raises(InputError, match="outside of the backup"):
        read_entry(inside, entry(file))


def test_a_file_that_was_changed_or_is_gone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(CONTENT)
    assert read_entry(tmp_path, entry("a.yaml")) == {"kind": "PyTorchJob"}
    (tmp_path / "a.yaml").write_bytes(CONTENT + b"\n")
    with pytest.raises(InputError, match="is not what was backed up"):
        read_entry(tmp_path, entry("a.yaml"))
    with pytest.raises(InputError, match="No such file"):
        read_entry(tmp_path, entry("b.yaml"))


def test_a_job_needs_what_its_pods_name_and_nothing_twice() -> None:
    pod = {
        "serviceAccountName": "trainer",
        "imagePullSecrets": [{"name": "registry"}, {}],
        "volumes": [
            {"name": "a", "configMap": {"name": "script"}},
            {"name": "b", "persistentVolumeClaim": {"claimName": "data"}},
        ],
        "containers": [
            {
                "name": "pytorch",
                "envFrom": [{"secretRef": {"name": "keys"}}, {"configMapRef": {"name": "script"}}],
                "env": [{"name": "T", "valueFrom": {"secretKeyRef": {"name": "token", "key": "t"}}}],
            }
        ],
    }
    roles = {role: {"template": {"spec": pod}} for role in ("Master", "Worker")}
    job: Json = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": roles}}
    assert needs_of(job) == (
        "ConfigMap script", "PersistentVolumeClaim data", "Secret keys", "Secret registry", "Secret token",
        "ServiceAccount trainer",
    )  # fmt: skip


def test_a_train_job_and_a_runtime_need_what_their_pods_name_in_part() -> None:
    patch = {"containers": [{"name": "node", "volumeMounts": []}], "volumes": [{"name": "c", "configMap": {"name": "code"}}]}
    spec: Json = {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"env": [{"name": "T", "valueFrom": {"secretKeyRef": {"name": "token", "key": "t"}}}]},
        "initializer": {"model": {"storageUri": "hf://a/b", "secretRef": {"name": "hf"}}},
        "runtimePatches": [{"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"template": {"spec": patch}}]}}}}],
    }
    job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "spec": spec}
    assert needs_of(job) == ("ClusterTrainingRuntime torch-distributed", "ConfigMap code", "Secret hf", "Secret token")
    own = {**job, "spec": {"runtimeRef": {"name": "torch", "kind": "TrainingRuntime"}}}
    assert needs_of(own) == ()
    runtime = {"kind": "TrainingRuntime", "spec": {"template": {"spec": {"replicatedJobs": [{"template": {"spec": patch}}]}}}}
    assert needs_of(runtime) == ("ConfigMap code",)


@pytest.mark.parametrize(
    ("kind", "conditions", "state"),
    [
        ("PyTorchJob", [{"type": "Succeeded", "status": "True"}], "Succeeded"),
        ("PyTorchJob", [], "Created"),
        ("Secret", [], ""),
    ],
)
def test_only_a_job_has_a_state(kind: str, conditions: list[Json], state: str) -> None:
    obj = {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": "x"},
        "spec": {},
        "status": {"conditions": conditions},
    }
    assert state_of(obj) == state
