"""Where files go, and how one is known to be right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shunter.errors import EnvironmentProblem, InputError
from shunter.initializers.files import Checksum, RemoteFile, check, digest_of, hexadecimal, target_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"hello\n")
    return path


@pytest.mark.parametrize("path", ["../a", "/etc/passwd", "a/../../b", "", "a\0b"])
def test_no_file_leaves_the_directory(path: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not the name of a file in a directory"):
        target_of(tmp_path, path)


def test_a_file_in_a_folder_keeps_its_folder(tmp_path: Path) -> None:
    assert target_of(tmp_path, "deep/er/a.bin") == tmp_path / "deep" / "er" / "a.bin"


@pytest.mark.parametrize(
    ("algorithm", "digest"),
    [
        ("sha256", "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"),
        ("sha1", "f572d396fae9206628714fb2ce00f72e94f2258f"),
        ("md5", "b1946ac92492d2347c6235b4d2611184"),
        ("crc32", "363a3020"),
        ("git", "ce013625030ba8dba906f756967f9e9ca394464a"),
    ],
)
def test_checksums_are_those_of_other_tools(algorithm: str, digest: str, file: Path) -> None:
    assert digest_of(file, algorithm) == digest


def test_checksums_in_base64_are_compared_in_hexadecimal() -> None:
    assert hexadecimal("q83v") == "abcdef"


@pytest.mark.parametrize(
    ("size", "checksum", "said"),
    [
        (7, None, "a has 6 bytes, not 7."),
        (None, Checksum("crc32", "00000000"), "a is damaged: its crc32 is 363a3020, not 00000000."),
    ],
    ids=["another size", "another checksum"],
)
def test_a_file_that_is_not_what_its_source_said_is_refused(
    size: int | None, checksum: Checksum | None, said: str, file: Path
) -> None:
    with pytest.raises(EnvironmentProblem, match=re.escape(said)):
        check(RemoteFile("a", size, "", checksum), file)


def test_a_file_of_which_its_source_said_nothing_is_taken(file: Path) -> None:
    check(RemoteFile("a", None, ""), file)
