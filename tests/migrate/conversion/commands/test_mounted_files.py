"""What containers of a pod call each other's files."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.migrate.conversion.commands.mounted_files import path_in


def mounts(*given: tuple[str, str, str]) -> Json:
    return {"volumeMounts": [{"mountPath": place, "name": name, "subPath": below} for place, name, below in given]}


WRITER = mounts(("/shared", "scratch", ""), ("/shared/data", "data", "run"))


@pytest.mark.parametrize(
    ("path", "reader", "expected"),
    [
        ("/shared/n", mounts(("/shared", "scratch", "")), "/shared/n"),
        ("/shared/a/n", mounts(("/in", "scratch", "")), "/in/a/n"),
        ("/shared/a/n", mounts(("/in", "scratch", "a")), "/in/n"),
        ("/shared/data/n", mounts(("/all", "data", ""), ("/shared", "scratch", "")), "/all/run/n"),
        ("/shared/n", mounts(("/in", "scratch", "b")), ""),
        ("/shared/n", mounts(("/shared", "other", "")), ""),
        ("/tmp/n", mounts(("/tmp", "scratch", "")), ""),
    ],
)
def test_a_file_is_found_where_its_volume_is_mounted(path: str, reader: Json, expected: str) -> None:
    assert path_in(reader, path, WRITER) == expected


def test_a_container_sees_all_of_its_own_files() -> None:
    assert path_in(WRITER, "/tmp/n", WRITER) == "/tmp/n"
