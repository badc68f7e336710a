"""Backups of a cluster, and restores from them."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from migrate.moving.moves import pytorch_job
from shunter.api.meta import Json
from shunter.api.resources import NAMESPACES, SECRETS, TRAIN_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.client import Client
from shunter.migrate.moving.annotations import SOURCE
from shunter.migrate.moving.backup.index import Entry, Index, read_entry, read_index
from shunter.migrate.moving.backup.restoring import Choice, Decision, decisions, restore
from shunter.migrate.moving.backup.saving import BY_KIND, everything, take

pytestmark = pytest.mark.integration

NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
async def namespace(client: Client) -> str:
    name = f"b-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


def with_secret(name: str, namespace: str) -> Json:
    job = pytorch_job(name, namespace, suspend=True)
    variable = {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}
    for spec in job["spec"]["pytorchReplicaSpecs"].values():
        container = {**spec["template"]["spec"]["containers"][0], "env": [variable]}
        spec["template"] = {"spec": {"containers": [container]}}
    return job


async def taken(client: Client, directory: Path, namespace: str) -> Index:
    return await take(client, directory, await everything(client, [namespace]), server="here", now=NOW)


async def test_what_was_backed_up_can_be_made_again(client: Client, namespace: str, tmp_path: Path) -> None:
    await client.create(PYTORCH_JOBS, pytorch_job("bert", namespace, suspend=True))
    directory = tmp_path / "backup"
    assert await taken(client, directory, namespace) == read_index(directory)
    await client.delete(PYTORCH_JOBS, "bert", namespace, propagation="Background")
    [decision] = await decisions(client, directory, read_index(directory), Choice())
    assert await restore(client, decision) == ""
    again = await client.get(PYTORCH_JOBS, "bert", namespace)
    assert again["spec"] == pytorch_job("bert", namespace, suspend=True)["spec"]
    [unchanged] = await decisions(client, directory, read_index(directory), Choice())
    assert unchanged.verdict == "unchanged"


async def test_a_missing_and_a_torn_file_are_refused_and_the_rest_is_restored(
    client: Client, namespace: str, tmp_path: Path
) -> None:
    for name in ("bert", "gpt", "t5"):
        await client.create(PYTORCH_JOBS, pytorch_job(name, namespace, suspend=True))
    directory = tmp_path / "backup"
    index = await taken(client, directory, namespace)
    for entry in index.objects:
        await client.delete(PYTORCH_JOBS, entry.name, namespace, propagation="Background")
    missing, torn, whole = index.objects
    (directory / missing.file).unlink()
    (directory / torn.file).write_text((directory / torn.file).read_text()[:40])
    found = {decision.entry.name: decision for decision in await decisions(client, directory, index, Choice())}
    assert found[missing.name].verdict == found[torn.name].verdict == "refuse"
    assert found[missing.name].why == f"{directory / missing.file}: No such file or directory."
    assert "is not what was backed up" in found[torn.name].why
    assert await restore(client, found[whole.name]) == ""
    assert await client.find(PYTORCH_JOBS, whole.name, namespace)


@pytest.mark.parametrize(
    ("state_of_v1", "state_of_v2", "verdicts", "why"),
    [
        ("Running", "Running", ("create suspended", "create"), "its TrainJob bert-v2 runs, and both would train"),
        ("Running", "Succeeded", ("create suspended", "leave"), "its TrainJob bert-v2 has finished (Succeeded)"),
        ("Succeeded", "Running", ("leave", "create suspended"), "its PyTorchJob {}/bert has finished (Succeeded)"),
    ],
    ids=["both ran", "the TrainJob has finished", "the v1 job has finished"],
)
async def test_a_job_and_its_train_job_of_one_backup_do_not_both_run(
    client: Client, namespace: str, tmp_path: Path, state_of_v1: str, state_of_v2: str, verdicts: tuple[str, str], why: str
) -> None:
    directory = tmp_path / "backup"
    index = await taken_of_both(client, directory, namespace, state_of_v1, state_of_v2)
    found = await decisions(client, directory, index, Choice(resume=True))
    assert tuple(decision.verdict for decision in found) == verdicts
    assert why.format(namespace) in next(decision.why for decision in found if decision.verdict == "create suspended")


@pytest.mark.parametrize(
    ("state_of_v1", "state_of_v2", "lost", "is_older", "why"),
    [
        ("Running", "Succeeded", "TrainJob", False, "its TrainJob bert-v2 has finished (Succeeded)"),
        ("Running", "Succeeded", "TrainJob", True, "TrainJob {}/bert-v2 (Succeeded) may be the same training: its file"),
        ("Running", "Running", "TrainJob", False, "its TrainJob {}/bert-v2 was Created, and its file cannot be read"),
        ("Succeeded", "Running", "PyTorchJob", False, "its PyTorchJob {}/bert has finished (Succeeded)"),
        ("Succeeded", "Running", "PyTorchJob", True, "its PyTorchJob {}/bert has finished (Succeeded)"),
    ],
)
async def test_a_training_of_which_a_file_is_lost_is_not_started_again(
    client: Client, namespace: str, tmp_path: Path, state_of_v1: str, state_of_v2: str, lost: str, is_older: bool, why: str
) -> None:
    directory = tmp_path / "backup"
    index = await taken_of_both(client, directory, namespace, state_of_v1, state_of_v2)
    if is_older:
        older = tuple(msgspec.structs.replace(entry, source=None) for entry in index.objects)
        index = msgspec.structs.replace(index, objects=older)
    gone = next(entry for entry in index.objects if entry.kind == lost)
    (directory / gone.file).unlink()
    found = {decision.entry.kind: decision for decision in await decisions(client, directory, index, Choice(resume=True))}
    assert found.pop(lost).verdict == "refuse"
    [decision] = found.values()
    assert decision.verdict == "create suspended"
    assert why.format(namespace) in decision.why


async def test_a_lost_train_job_of_another_v1_job_stops_nothing(client: Client, namespace: str, tmp_path: Path) -> None:
    directory = tmp_path / "backup"
    index = await taken_of_both(client, directory, namespace, "Running", "Succeeded", source="gpt")
    gone = next(entry for entry in index.objects if entry.kind == TRAIN_JOBS.kind)
    (directory / gone.file).unlink()
    found = await decisions(client, directory, index, Choice(resume=True))
    assert [decision.verdict for decision in found] == ["create", "refuse"]


async def test_a_finished_job_that_was_restored_suspended_has_still_finished(
    client: Client, namespace: str, tmp_path: Path
) -> None:
    directory = tmp_path / "backup"
    index = await taken_of_both(client, directory, namespace, "Succeeded", "Running")
    await client.create(PYTORCH_JOBS, pytorch_job("bert", namespace, suspend=True))
    found = await decisions(client, directory, index, Choice(resume=True, finished=True))
    assert [decision.verdict for decision in found] == ["unchanged", "create suspended"]


async def taken_of_both(
    client: Client, directory: Path, namespace: str, state_of_v1: str, state_of_v2: str, *, source: str = "bert"
) -> Index:
    """A backup of a v1 job and of a TrainJob that was converted from `source`."""
    annotations = {SOURCE: f"PyTorchJob {namespace}/{source}"}
    train_job = {
        "apiVersion": TRAIN_JOBS.api_version,
        "kind": TRAIN_JOBS.kind,
        "metadata": {"name": "bert-v2", "namespace": namespace, "annotations": annotations},
        "spec": {"runtimeRef": {"name": "torch"}},
        "status": conditions(state_of_v2, "Complete"),
    }
    v1_job = {**pytorch_job("bert", namespace), "status": conditions(state_of_v1, "Succeeded")}
    return await take(client, directory, [v1_job, train_job], server="here", now=NOW, verify=False)


def conditions(state: str, success: str) -> Json:
    return {"conditions": [{"type": success if state == "Succeeded" else "Running", "status": "True"}]}


async def test_a_kind_without_its_definition_is_named(client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = {**pytorch_job("bert", namespace), "kind": "NoJob"}
    unserved = PYTORCH_JOBS._replace(kind="NoJob", plural="nojobs")
    monkeypatch.setitem(BY_KIND, (job["apiVersion"], "NoJob"), unserved)
    entry = Entry(file="f", sha256="", api_version=job["apiVersion"], kind="NoJob", name="bert", namespace=namespace)
    why = await restore(client, Decision(entry, "create", "", job))
    assert why == "the cluster does not serve NoJob (kubeflow.org/v1): create its definition first"


async def test_a_backup_is_the_same_for_kubectl(client: Client, namespace: str, tmp_path: Path) -> None:
    job = pytorch_job("bert", namespace, suspend=True)
    for spec in job["spec"]["pytorchReplicaSpecs"].values():
        container = {**spec["template"]["spec"]["containers"][0], "args": ["--lr", "1e-3"]}
        spec["template"] = {"spec": {"containers": [container]}}
    await client.create(PYTORCH_JOBS, job)
    [entry] = (await taken(client, tmp_path / "backup", namespace)).objects
    assert '- "1e-3"\n' in (tmp_path / "backup" / entry.file).read_text()  # without quotes it would be a number there
    [unchanged] = await decisions(client, tmp_path / "backup", read_index(tmp_path / "backup"), Choice())
    assert unchanged.verdict == "unchanged"


async def test_a_secret_is_named_and_its_value_is_nowhere(client: Client, namespace: str, tmp_path: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub", "namespace": namespace}}
    await client.create(SECRETS, {**secret, "stringData": {"token": "do-not-tell"}})
    await client.create(PYTORCH_JOBS, with_secret("bert", namespace))
    index = await taken(client, tmp_path / "backup", namespace)
    assert [entry.needs for entry in index.objects] == [("Secret hub",)]
    text = "".join(path.read_text() for path in (tmp_path / "backup").rglob("*.yaml"))
    assert "do-not-tell" not in text
    assert "ZG8tbm90LXRlbGw" not in text


async def test_an_object_that_the_server_would_not_take_back_is_written_and_named(
    client: Client, namespace: str, tmp_path: Path
) -> None:
    odd, good = pytorch_job("odd", namespace), pytorch_job("good", namespace)
    odd["spec"]["noSuchField"] = 1
    index = await take(client, tmp_path / "backup", [odd, good], server="here", now=NOW)
    assert index == read_index(tmp_path / "backup")
    assert [entry.title for entry in index.refused] == [f"PyTorchJob {namespace}/odd"]
    assert "noSuchField" in index.refused[0].refused
    assert [read_entry(tmp_path / "backup", entry)["metadata"]["name"] for entry in index.objects] == ["odd", "good"]


async def test_a_file_that_was_changed_is_refused(client: Client, namespace: str, tmp_path: Path) -> None:
    await client.create(PYTORCH_JOBS, pytorch_job("bert", namespace, suspend=True))
    index = await taken(client, tmp_path / "backup", namespace)
    file = tmp_path / "backup" / index.objects[0].file
    file.write_text(file.read_text().replace("trainer:1", "trainer:2"))
    [decision] = await decisions(client, tmp_path / "backup", index, Choice())
    assert decision.verdict == "refuse"
    assert "is not what was backed up" in decision.why
    assert decision.body is None


async def test_an_index_that_leads_outside_is_refused(client: Client, namespace: str, tmp_path: Path) -> None:
    await client.create(PYTORCH_JOBS, pytorch_job("bert", namespace, suspend=True))
    index = await taken(client, tmp_path / "backup", namespace)
    entry = msgspec.structs.replace(index.objects[0], file="../outside.yaml")
    [decision] = await decisions(client, tmp_path / "backup", msgspec.structs.replace(index, objects=(entry,)), Choice())
    assert decision.verdict == "refuse"
    assert "outside of the backup" in decision.why


async def test_a_folder_that_holds_something_is_not_written_to(client: Client, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(InputError, match="is not empty"):
        await taken(client, tmp_path, namespace)


async def test_a_place_that_cannot_be_written_is_named(client: Client, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="file/backup: cannot write a backup: File exists"):
        await taken(client, tmp_path / "file" / "backup", namespace)
