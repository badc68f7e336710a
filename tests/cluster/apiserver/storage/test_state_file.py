"""A state file of an earlier version is upgraded beside a copy, one that is not whole is refused in words and left alone."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shunter.cluster.apiserver.storage import state_file
from shunter.cluster.apiserver.storage.store import Store
from shunter.errors import EnvironmentProblem

FORMAT_1 = """
create table objects (
    api_group text not null, resource text not null, namespace text not null, name text not null,
    revision integer not null, value blob not null,
    primary key (api_group, resource, namespace, name)
);
create table revisions (id integer primary key check (id = 1), ceiling integer not null);
insert into revisions values (1, 700);
"""


def config_map(number: int) -> dict[str, Any]:
    data = {"key": f"value-{number}-" + "x" * 300}
    return {"metadata": {"name": f"m{number}", "namespace": "default", "uid": f"u{number}"}, "data": data}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with 200 objects, closed in good order."""
    path = tmp_path / "cluster.sqlite3"

    async def fill() -> None:
        store = Store(path)
        store.start()
        maps = store.collection("", "configmaps")
        await asyncio.gather(*(store.write(maps, config_map(number), previous=None, durable=True) for number in range(200)))
        store.close()

    asyncio.run(fill())
    return path


def names(path: Path) -> list[str]:
    store = Store(path)
    try:
        return [entry.name for entry in store.collection("", "configmaps").entries()]
    finally:
        store.close()


def of_format_1(path: Path) -> None:
    """As the version before checksums wrote it, with what `path` holds."""
    rows = sqlite3.connect(path).execute("select api_group, resource, namespace, name, revision, value from objects").fetchall()
    path.unlink()
    db = sqlite3.connect(path)
    db.executescript(FORMAT_1)
    db.executemany("insert into objects values (?, ?, ?, ?, ?, ?)", rows)
    db.commit()
    db.close()


def test_a_file_of_format_1_is_upgraded_and_kept_as_it_was(file: Path) -> None:
    before = names(file)
    of_format_1(file)
    assert names(file) == before
    assert names(file) == before
    backup = state_file.backup_of(file, 1)
    kept = sqlite3.connect(backup)
    assert kept.execute("pragma user_version").fetchone() == (0,)
    assert kept.execute("select count(*) from objects").fetchone() == (len(before),)
    assert Store(file).revision >= 700


def test_an_upgrade_that_fails_changes_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_format_1(file)

    def fail(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(state_file, "checksum", fail)
    with pytest.raises((EnvironmentProblem, sqlite3.Error)):
        Store(file)
    monkeypatch.undo()
    assert len(names(file)) == 200


def flip_a_value(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b"value-150-") + 20] ^= 1
    path.write_bytes(content)


def tear_pages(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[3 * 4096 : 6 * 4096] = b"\x5a" * (3 * 4096)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        pytest.param(flip_a_value, "configmaps default/m150 is not what was written", id="one bit of an object"),
        pytest.param(tear_pages, "is damaged", id="three pages"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:20_000]), "is damaged", id="cut off"),
        pytest.param(lambda path: path.write_bytes(b"no database" * 1000), "file is not a database", id="something else"),
        pytest.param(lambda path: _set_format(path, 3), "has format 3, of a later version", id="a later format"),
    ],
)
def test_what_is_not_whole_is_refused_and_left_as_it_is(file: Path, damage: Callable[[Path], None], what: str) -> None:
    damage(file)
    before = file.read_bytes()
    with pytest.raises(EnvironmentProblem) as refused:
        Store(file)
    assert what in refused.value.message
    assert str(file) in refused.value.message
    assert refused.value.remedy
    assert file.read_bytes() == before


def test_the_log_of_a_damaged_file_is_not_moved_into_it(file: Path) -> None:
    """A connection that may write would do so when it ends."""
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("pragma wal_autocheckpoint = 0")
    writer.execute("delete from objects where name = 'm1'")
    damaged = file.with_name("damaged.sqlite3")
    damaged.write_bytes(file.read_bytes())
    tear_pages(damaged)
    log = damaged.with_name("damaged.sqlite3-wal")
    log.write_bytes(file.with_name(f"{file.name}-wal").read_bytes())
    before = damaged.read_bytes(), log.read_bytes()
    with pytest.raises(EnvironmentProblem):
        Store(damaged)
    assert (damaged.read_bytes(), log.read_bytes()) == before
    writer.close()


def _set_format(path: Path, number: int) -> None:
    db = sqlite3.connect(path)
    db.execute(f"pragma user_version = {number}")
    db.close()


def test_half_a_transaction_at_the_end_of_the_log_is_dropped(file: Path) -> None:
    """What a crash leaves: nothing of it was acknowledged."""
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("pragma wal_autocheckpoint = 0")
    writer.execute("delete from objects where name = 'm1'")
    wal = file.with_name(f"{file.name}-wal").read_bytes()
    torn = file.with_name("torn.sqlite3")
    torn.write_bytes(file.read_bytes())
    torn.with_name("torn.sqlite3-wal").write_bytes(wal[: len(wal) // 2])
    writer.close()
    assert len(names(torn)) == 200


@pytest.mark.integration
def test_the_server_says_so_in_one_line(file: Path) -> None:
    state = file.parent / "state"
    (state / "store").mkdir(parents=True)
    flip_a_value(file)
    file.rename(state / "store" / "cluster.sqlite3")
    command = [sys.executable, "-m", "shunter.cluster.apiserver", "--state-dir", str(state), "--port", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    path = f"{state}/store/cluster.sqlite3"
    what = f"{path} is damaged (configmaps default/m150 is not what was written) and was left as it is."
    files = f"{path}, cluster.sqlite3-wal and cluster.sqlite3-shm"
    remedy = f"Move {files} away together; then restore a copy, or start without objects."
    assert done.stderr.splitlines() == [f"{what} {remedy}"]
