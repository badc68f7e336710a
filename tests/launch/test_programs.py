"""Which program is meant, and which directory travels with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.launch.options import Program
from shunter.launch.programs import code_of, program_of


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with scripts below and beside it."""
    for name in ("here/train.py", "here/sub/train.py", "there/train.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.parametrize(
    ("path", "options", "script", "root"),
    [
        ("train.py", {}, "train.py", "."),
        ("sub/train.py", {}, "sub/train.py", "."),
        ("../there/train.py", {}, "train.py", "../there"),
        ("../there/train.py", {"workdir": ".."}, "there/train.py", ".."),
        ("train.py", {"is_in_image": True}, "train.py", "."),
    ],
)
def test_the_directory_that_travels_holds_the_script(
    here: Path, path: str, options: dict[str, Any], script: str, root: str
) -> None:
    found, directory = program_of(path, arguments=["--lr", "1"], **options)
    assert (found, directory) == (Program(path=script, arguments=("--lr", "1")), (here / root).resolve())


def test_a_module_that_is_not_in_its_package_is_refused_when_it_is_mounted(here: Path) -> None:
    code = code_of(Program(module="sub.train"), here, is_embedded=True)
    assert code.directory == str(here)  # type: ignore[union-attr]
    with pytest.raises(InputError, match=r"-m sub.trian: neither sub/trian.py nor"):
        code_of(Program(module="sub.trian"), here, is_embedded=True)
