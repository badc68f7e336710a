"""The journal: what survives kills, losses and other processes."""

from __future__ import annotations

import contextlib
import json
import stat
import uuid
from pathlib import Path

import msgspec
import pytest

from fault_transport import FaultTransport, Killed, Refuse
from faults.operators import Operator
from migrate.moving.moves import Moves, Screen, pytorch_job
from migrate.moving.test_planning import plan
from migrate.moving.test_step_decisions import CREATE, DELETE, SHARED
from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, NAMESPACES
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden, Invalid
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving import applying, rolling_back
from shunter.migrate.moving.journal import Journal, Record
from shunter.migrate.moving.rollback_decisions import UndoContext, undo_of
from shunter.migrate.moving.step_decisions import intended
from shunter.migrate.moving.steps import Step

pytestmark = pytest.mark.integration

PLAN = msgspec.structs.replace(plan(), id="p1")


def journal(moves: Moves, directory: Path) -> Journal:
    return Journal(directory, "p1", moves.client, moves.namespace)


async def test_what_was_announced_is_in_the_file_and_in_the_cluster(moves: Moves, tmp_path: Path) -> None:
    with journal(moves, tmp_path / "here") as written:
        await written.load()
        await written.announce(intended(CREATE, None))
    for directory in ("here", "elsewhere"):
        found = journal(moves, tmp_path / directory)
        await found.load()
        assert found.records == written.records


async def test_a_record_that_was_torn_by_a_kill_is_as_if_it_had_not_been(moves: Moves, tmp_path: Path) -> None:
    with journal(moves, tmp_path) as written:
        await written.load()
        written.note(intended(CREATE, None))
    file = tmp_path / "p1.jsonl"
    file.write_bytes(file.read_bytes() + b'{"number":2,"st')
    with journal(moves, tmp_path) as again:
        await again.load()
        again.note(intended(CREATE, None))
    found = journal(moves, tmp_path)
    await found.load()
    assert [record.number for record in found.records] == [1, 2]


async def test_a_file_that_is_no_journal_is_told_with_its_line(moves: Moves, tmp_path: Path) -> None:
    (tmp_path / "p1.jsonl").write_text("{}\n{}\n")
    with pytest.raises(InputError, match=r"p1\.jsonl:1: not a record of a journal"):
        await journal(moves, tmp_path).load()


async def test_a_file_of_damaged_bytes_is_told_with_its_line(moves: Moves, tmp_path: Path) -> None:
    (tmp_path / "p1.jsonl").write_bytes(b'{"step":"\xff"}\n{}\n')
    with pytest.raises(InputError, match=r"p1\.jsonl:1: not a record of a journal"):
        await journal(moves, tmp_path).load()


async def test_a_file_that_cannot_be_read_is_told(moves: Moves, tmp_path: Path) -> None:
    (tmp_path / "p1.jsonl").mkdir()
    with pytest.raises(EnvironmentProblem, match=r"the journal .*p1\.jsonl: Is a directory"):
        await journal(moves, tmp_path).load()


async def test_a_config_map_that_was_edited_is_told_and_written_again_when_it_is_deleted(moves: Moves, tmp_path: Path) -> None:
    with journal(moves, tmp_path) as written:
        await written.load()
        await written.announce(intended(CREATE, None))
    await moves.client.patch(CONFIG_MAPS, "shunter-migration-p1-0", moves.namespace, {"data": {"000001": "{}"}})
    with pytest.raises(EnvironmentProblem, match="shunter-migration-p1-0: 000001 is not a record of a journal") as told:
        await journal(moves, tmp_path).load()
    assert "delete the ConfigMap" in told.value.remedy
    await moves.client.delete(CONFIG_MAPS, "shunter-migration-p1-0", moves.namespace)
    with journal(moves, tmp_path) as again:
        await again.load()
        await again.mirror()
    found = journal(moves, tmp_path / "elsewhere")
    await found.load()
    assert found.records == written.records


def test_two_processes_never_write_one_journal(moves: Moves, tmp_path: Path) -> None:
    with journal(moves, tmp_path), pytest.raises(EnvironmentProblem, match="is in use"), journal(moves, tmp_path):
        pass


async def test_many_records_are_shared_among_config_maps(moves: Moves, tmp_path: Path) -> None:
    with journal(moves, tmp_path) as written:
        await written.load()
        for _ in range(250):
            written.note(intended(CREATE, None))
        await written.mirror()
    names = [obj["metadata"]["name"] for obj in (await moves.client.list(CONFIG_MAPS, moves.namespace)).items]
    assert [name for name in names if name.startswith("shunter-")] == [f"shunter-migration-p1-{shard}" for shard in (0, 1, 2)]
    found = journal(moves, tmp_path / "elsewhere")
    await found.load()
    assert len(found.records) == 250


async def test_a_namespace_that_is_not_there_is_told(moves: Moves, tmp_path: Path) -> None:
    with Journal(tmp_path, "p1", moves.client, "nowhere") as written:
        await written.load()
        with pytest.raises(InputError, match="journalNamespace: the cluster has no namespace 'nowhere'"):
            await written.announce(intended(CREATE, None))


async def test_a_file_that_another_machine_went_past_is_told(moves: Moves, tmp_path: Path) -> None:
    for directory in ("here", "elsewhere"):
        with journal(moves, tmp_path / directory) as written:
            if directory == "here":
                await written.load()
            written.note(intended(CREATE if directory == "here" else SHARED, None))
            if directory == "here":
                await written.mirror()
    with pytest.raises(EnvironmentProblem, match="differ from record 1 on: another machine continued this plan"):
        await journal(moves, tmp_path / "elsewhere").load()


@pytest.fixture
def without_rights(moves: Moves) -> Client:
    """May touch no ConfigMap."""
    faults = FaultTransport(moves.client.transport)
    faults.inject(Refuse(403, "Forbidden", "configmaps is forbidden"), path="/configmaps", times=100)
    return moves.client.through(faults)


async def test_who_only_looks_needs_no_right_to_config_maps(moves: Moves, without_rights: Client, tmp_path: Path) -> None:
    with journal(moves, tmp_path) as written:
        await written.load()
        written.note(intended(CREATE, None))
    found = Journal(tmp_path, "p1", without_rights, moves.namespace)
    await found.load()
    assert found.records == written.records
    assert found.unread == "configmaps is forbidden"


async def test_who_writes_is_told_what_rights_it_takes(moves: Moves, without_rights: Client, tmp_path: Path) -> None:
    with Journal(tmp_path, "p1", without_rights, moves.namespace) as written:
        with pytest.raises(EnvironmentProblem, match="configmaps is forbidden") as problem:
            await written.load()
        assert "get, list, create and patch of ConfigMaps" in problem.value.remedy
        with pytest.raises(EnvironmentProblem, match="configmaps is forbidden"):
            await written.announce(intended(CREATE, None))


SECRET = "hf_s3cr3t"


@pytest.fixture
async def journals(moves: Moves) -> str:
    """A namespace for journals, which others may read."""
    name = f"j-{uuid.uuid4().hex[:8]}"
    await moves.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


def deletion(moves: Moves, text: str = SECRET) -> Record:
    """What is to be known before a job with a token in it is deleted."""
    job = pytorch_job("bert", moves.namespace, uid="1", resourceVersion="5")
    job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "HF_TOKEN", "value": text}
    ]
    return intended(DELETE._replace(namespace=moves.namespace), job)


async def config_maps(moves: Moves, namespace: str) -> list[Json]:
    found = (await moves.client.list(CONFIG_MAPS, namespace)).items
    return [obj for obj in found if obj["metadata"]["name"].startswith("shunter-")]


async def test_a_deleted_job_is_kept_in_its_own_namespace_alone(moves: Moves, journals: str, tmp_path: Path) -> None:
    with Journal(tmp_path / "here", "p1", moves.client, journals) as written:
        await written.load()
        record = await written.announce(deletion(moves))
        await written.announce(intended(CREATE, None))
    told = await config_maps(moves, journals)
    assert SECRET not in json.dumps(told)
    assert record.before in json.dumps(told)
    assert SECRET in json.dumps(await config_maps(moves, moves.namespace))
    file = tmp_path / "here" / "p1.jsonl"
    assert SECRET in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_another_machine_finds_the_copy_of_a_deleted_job(moves: Moves, journals: str, tmp_path: Path) -> None:
    with Journal(tmp_path / "here", "p1", moves.client, journals) as written:
        await written.load()
        await written.announce(deletion(moves))
    with Journal(tmp_path / "elsewhere", "p1", moves.client, journals) as found:
        await found.load()
        assert found.records == written.records
        assert found.unread == ""
    again = Journal(tmp_path / "elsewhere", "p1", moves.client, journals)
    await again.load()
    assert again.records == written.records


async def test_a_journal_in_the_namespace_of_the_jobs_is_read_as_well(moves: Moves, tmp_path: Path) -> None:
    with journal(moves, tmp_path / "here") as written:
        await written.load()
        await written.announce(deletion(moves))
    found = journal(moves, tmp_path / "elsewhere")
    await found.load()
    assert found.records == written.records


async def test_a_file_that_others_could_read_is_closed_to_them(moves: Moves, tmp_path: Path) -> None:
    (tmp_path / "p1.jsonl").touch(mode=0o644)
    with journal(moves, tmp_path):
        assert stat.S_IMODE((tmp_path / "p1.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize("what", ["gone", "changed"])
async def test_a_copy_that_is_not_what_was_written_brings_nothing_back(
    moves: Moves, journals: str, tmp_path: Path, what: str
) -> None:
    with Journal(tmp_path / "here", "p1", moves.client, journals) as written:
        await written.load()
        await written.announce(deletion(moves))
    (copy,) = await config_maps(moves, moves.namespace)
    if what == "gone":
        await moves.client.delete(CONFIG_MAPS, copy["metadata"]["name"], moves.namespace)
    else:
        other = copy["data"]["object"].replace("trainer:1", "miner:1")
        await moves.client.patch(CONFIG_MAPS, copy["metadata"]["name"], moves.namespace, {"data": {"object": other}})
    found = Journal(tmp_path / "elsewhere", "p1", moves.client, journals)
    await found.load()
    assert undo_of(found.records[-1], None, UndoContext("p1")).verdict == "keep"
    assert "is gone or was changed" in found.unread


async def test_nothing_is_noted_when_the_copy_cannot_be_kept(
    moves: Moves, journals: str, without_rights_to_copies: Client, tmp_path: Path
) -> None:
    with Journal(tmp_path, "p1", without_rights_to_copies, journals) as written:
        await written.load()
        with pytest.raises(Forbidden, match="configmaps is forbidden") as problem:
            await written.announce(deletion(moves))
        assert "create and patch of ConfigMaps in its namespace" in problem.value.remedy
        assert written.records == []
        await written.announce(intended(CREATE, None))
    assert len(await config_maps(moves, journals)) == 1


async def test_a_copy_that_may_not_be_read_is_told(
    moves: Moves, journals: str, without_rights_to_copies: Client, tmp_path: Path
) -> None:
    with Journal(tmp_path / "here", "p1", moves.client, journals) as written:
        await written.load()
        await written.announce(deletion(moves))
    found = Journal(tmp_path / "elsewhere", "p1", without_rights_to_copies, journals)
    await found.load()
    assert f"its copy, ConfigMap {moves.namespace}/shunter-migration-p1-copy-" in found.unread
    refused = pytest.raises(EnvironmentProblem, match="configmaps is forbidden")
    with Journal(tmp_path / "elsewhere", "p1", without_rights_to_copies, journals) as writing, refused:
        await writing.load()


async def test_a_job_too_large_for_a_config_map_is_not_deleted(moves: Moves, journals: str, tmp_path: Path) -> None:
    with Journal(tmp_path, "p1", moves.client, journals) as written:
        await written.load()
        with pytest.raises(Invalid) as problem:
            await written.announce(deletion(moves, "x" * 1024 * 1024))
        assert "a ConfigMap takes 1 MiB: back the job up" in problem.value.remedy
        assert written.records == []


@pytest.fixture
def without_rights_to_copies(moves: Moves) -> Client:
    """May touch no ConfigMap in the namespace of the jobs."""
    faults = FaultTransport(moves.client.transport)
    faults.inject(
        Refuse(403, "Forbidden", "configmaps is forbidden"), path=f"/namespaces/{moves.namespace}/configmaps", times=100
    )
    return moves.client.through(faults)


@pytest.mark.parametrize("writes", [1, 3, 4, 5], ids=["its copy", "the record", "the deletion", "all"])
async def test_another_machine_brings_a_job_back_whose_deletion_was_killed_after(
    writes: int, moves: Moves, operator: Operator, journals: str, tmp_path: Path
) -> None:
    await operator.stop()  # Its writes of the status would be conflicts, and more of ours.
    made = await moves.submit("bert", suspend=True)
    uid = made["metadata"]["uid"]
    step = Step("delete bert", "delete", PYTORCH_JOBS, moves.namespace, "bert", sha256=digest(made), uid=uid)
    async with moves.dying(writes) as client:
        with contextlib.suppress(Killed), Journal(tmp_path / "here", "p1", client, journals) as written:
            await written.load()
            await applying.apply(client, [step], written, Screen())
    assert (await moves.v1("bert") == {}) == (writes >= 4)
    with Journal(tmp_path / "elsewhere", "p1", moves.client, journals) as found:
        await found.load()
        undos = await rolling_back.roll_back(moves.client, found, PLAN, tmp_path, lambda undo, failure: None)
    assert {undo.verdict for undo, _ in undos} == ({"create"} if writes >= 4 else {"nothing"} if writes == 3 else set())
    assert (await moves.v1("bert"))["spec"] == made["spec"]
