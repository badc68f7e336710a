"""The same files give the same archive, and one that is too large is refused with its largest files."""

from __future__ import annotations

import io
import os
import random
import tarfile
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.launch.code import packing
from shunter.launch.code.tree import packed_code

NOBODY = 65534


def write(root: Path, *names: str, content: str = "x = 1\n") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    names = ["train.py", "pkg/__init__.py", "pkg/model.py", "data/ä b.txt"]
    archives = []
    for number, order in enumerate((names, names[::-1])):
        root = tmp_path / str(number)
        write(root, *order)
        (root / "train.py").chmod(0o755 if number else 0o700)
        for name in order:
            os.utime(root / name, (number, number))
            if os.geteuid() == 0:
                os.chown(root / name, NOBODY * number, NOBODY * number)
        archives.append(packed_code(root))
    assert archives[0].archive == archives[1].archive
    write(tmp_path / "1", "train.py", content="x = 2\n")
    assert packed_code(tmp_path / "1").digest != archives[0].digest


def test_what_was_packed_unpacks_to_the_same_files(tmp_path: Path) -> None:
    root, there = tmp_path / "root", tmp_path / "there"
    write(root, "train.py", "pkg/a.py")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o700)
    (root / "link.py").symlink_to(root / "pkg/a.py")
    (root / "same").symlink_to("pkg")
    with tarfile.open(fileobj=io.BytesIO(packed_code(root).archive)) as tar:
        tar.extractall(there, filter="data")
    assert sorted(os.listdir(there)) == ["link.py", "pkg", "run.sh", "same", "train.py"]
    assert (there / "link.py").read_text() == (there / "same/a.py").read_text() == "x = 1\n"
    assert os.access(there / "run.sh", os.X_OK)
    assert not os.access(there / "train.py", os.X_OK) or os.stat(there / "train.py").st_mode & 0o111 == 0


def test_an_archive_that_is_too_large_names_the_largest_files(tmp_path: Path) -> None:
    noise = random.Random(7)
    for number in range(7):
        (tmp_path / f"{number}.bin").write_bytes(noise.randbytes(1_200_000 + number))
    with pytest.raises(
        InputError, match=r"the 7 files in .* have 8.4 MB, more than 7.4 MB when packed. Largest: 6.bin .*, 2.bin"
    ) as error:
        packed_code(tmp_path)
    assert "1.bin" not in error.value.message
    assert ".shunterignore" in error.value.remedy


def test_an_archive_in_pieces_is_the_archive(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(random.Random(7).randbytes(2_500_000))
    code = packed_code(tmp_path)
    assert [len(piece) for piece in code.pieces[:-1]] == [packing.PIECE_BYTES] * 2
    assert b"".join(code.pieces) == code.archive


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_500, "1.5 KB"),
        (9_960, "10 KB"),
        (999_499, "999 KB"),
        (999_999, "1.0 MB"),
        (38_400_000, "38 MB"),
        (12_345_678_901, "12.3 GB"),
        (3_200_000_000_000, "3.2 TB"),
    ],
)
def test_an_amount_of_bytes_is_shown_in_the_unit_that_suits_it(size: int, text: str) -> None:
    assert packing.shown_bytes(size) == text
