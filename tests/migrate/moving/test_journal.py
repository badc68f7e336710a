"""The journal: what survives kills, losses and other processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.moving.moves import Moves
from migrate.moving.test_deciding import CREATE, SHARED
from shunter.api.resources import CONFIG_MAPS
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.client import Client
from shunter.kube.faults import FaultTransport, Refuse
from shunter.migrate.moving.deciding import intended
from shunter.migrate.moving.journal import Journal


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
    with pytest.raises(EnvironmentProblem, match="differ from record 1 on: another machine went on with this plan"):
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
