"""The file behind the journal: its format, the upgrade from an earlier format, and the check for damage.

Format 1 had no checksums. SQLite detects a damaged page, and drops transactions that a crash left incomplete in its log; a
checksum of each object detects other damage. A damaged file is refused as a whole: with the readable part alone, missing objects
would look deleted.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import zlib
from pathlib import Path

from shunter.disk import sync_directory
from shunter.errors import EnvironmentProblem

log = logging.getLogger(__name__)

FORMAT = 2
"""`pragma user_version`; files of format 1 say 0."""
_SCHEMA = f"""
begin immediate;
create table objects (
    api_group text not null, resource text not null, namespace text not null, name text not null,
    revision integer not null, value blob not null, checksum integer not null,
    primary key (api_group, resource, namespace, name)
);
create table revisions (id integer primary key check (id = 1), ceiling integer not null);
insert into revisions values (1, 0);
pragma user_version = {FORMAT};
commit;
"""


def opened(path: Path) -> sqlite3.Connection:
    """The file, made where there is none, brought to this format where it has an earlier one. Raises EnvironmentProblem for one
    that is damaged or of a later format, sqlite3.OperationalError where the disk is full or cannot be written."""
    found = _checked(path) if path.exists() else 0
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        # Temporary data of statements must not need disk space.
        db.execute("pragma temp_store = memory")
        if not db.execute("select count(*) from sqlite_master where name = 'objects'").fetchone()[0]:
            db.executescript(_SCHEMA)
        elif found < FORMAT:
            _upgrade(db, path)
    except sqlite3.OperationalError:
        db.close()
        raise
    except sqlite3.DatabaseError as error:
        db.close()
        raise damaged(path, str(error)) from error
    return db


def _checked(path: Path) -> int:
    """The format of a file that is whole. It is only read: a connection that may write moves the log into the file when it ends,
    which is not wanted of a file that is damaged. Raises as `opened` does."""
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        found: int = db.execute("pragma user_version").fetchone()[0]
        if found > FORMAT:
            raise EnvironmentProblem(
                f"{path} has format {found}, of a later version of Shunter; this one reads formats up to {FORMAT}.",
                "Run that version, or choose another directory with --state-dir.",
            )
        if (problem := db.execute("pragma quick_check(1)").fetchone()[0]) != "ok":
            raise damaged(path, problem)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        raise damaged(path, str(error)) from error
    finally:
        db.close()
    return found


def checksum(group: str, plural: str, namespace: str, name: str, revision: int, value: bytes) -> int:
    """The checksum of all columns of an object."""
    return zlib.crc32(value, zlib.crc32(f"{group}/{plural}/{namespace}/{name}/{revision}".encode()))


def damaged(path: Path, what: str) -> EnvironmentProblem:
    """The refusal of a file in which `what` is wrong."""
    return EnvironmentProblem(
        f"{path} is damaged ({what}) and was left as it is.",
        f"Move {path}, {path.name}-wal and {path.name}-shm away together; then restore a copy, or start without objects.",
    )


def backup_of(path: Path, number: int) -> Path:
    """Where the file is kept as it was in an earlier format."""
    return path.with_name(f"{path.name}.format-{number}")


def _upgrade(db: sqlite3.Connection, path: Path) -> None:
    """From format 1, in one transaction, once a copy is on disk."""
    backup = backup_of(path, 1)
    unfinished = backup.with_name(f"{backup.name}.new")
    unfinished.unlink(missing_ok=True)
    db.execute("vacuum into ?", (str(unfinished),))
    with unfinished.open("rb+") as file:
        os.fsync(file.fileno())
    unfinished.replace(backup)
    sync_directory(path.parent)
    db.create_function("checksum_of", 6, checksum, deterministic=True)
    db.execute("begin immediate")
    try:
        db.execute("alter table objects add column checksum integer not null default 0")
        db.execute("update objects set checksum = checksum_of(api_group, resource, namespace, name, revision, value)")
        db.execute(f"pragma user_version = {FORMAT}")
        db.execute("commit")
    except BaseException:
        if db.in_transaction:
            db.execute("rollback")
        raise
    log.info("%s has format %d now; as it was before it is kept as %s", path, FORMAT, backup)
