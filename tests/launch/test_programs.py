"""Which program is meant, and which directory travels with it."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.launch.options import Program
from shunter.launch.programs import code_of, dropped_path, idle_reason, program_of

NOBODY = 65534


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with scripts below and beside it."""
    for name in ("here/train.py", "here/sub/train.py", "there/train.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def closed_script() -> Iterator[Path]:
    """A script that we may not read, in a directory that every user can reach, as pytest's own cannot be."""
    with tempfile.TemporaryDirectory() as directory:
        script = Path(directory, "train.py")
        script.touch(mode=0)
        Path(directory).chmod(0o755)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(NOBODY)
        try:
            yield script
        finally:
            if is_root:
                os.seteuid(0)


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


def test_the_root_directory_is_not_sent(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    with pytest.raises(InputError, match=rf"would be /, which contains .* --workdir {here}$"):
        program_of(str(here / "train.py"))
    assert program_of(str(here / "train.py"), workdir=str(here))[1] == here


def test_what_is_no_directory_to_send_is_named(here: Path) -> None:
    for workdir, said in (("train.py", "not a directory"), ("none", "no such directory")):
        with pytest.raises(InputError, match=rf"--workdir {workdir}: {said}. Name the directory that contains the program"):
            program_of("train.py", workdir=workdir)


def test_a_script_named_as_a_module_is_told_of(here: Path) -> None:
    with pytest.raises(InputError, match=r"-m train.py: the name of a module has no .py. Write -m train, or leave -m out."):
        program_of("", module="train.py")


@pytest.mark.parametrize("module", ["../x", ".train", "pkg..train", "pkg/train"])
def test_what_is_no_name_of_a_module_is_refused(here: Path, module: str) -> None:
    with pytest.raises(InputError, match=rf"-m {re.escape(module)}: not the name of a module. Write it like -m pkg.train"):
        program_of("", module=module)


def test_a_module_that_is_not_in_its_package_is_refused_when_it_is_mounted(here: Path) -> None:
    code = code_of(Program(module="sub.train"), here, is_embedded=True)
    assert code.directory == str(here)  # type: ignore[union-attr]
    with pytest.raises(InputError, match=r"-m sub.trian: neither sub/trian.py nor"):
        code_of(Program(module="sub.trian"), here, is_embedded=True)


@pytest.mark.parametrize(
    ("link", "target", "is_refused"),
    [
        ("link.py", "../there/train.py", True),
        ("sub/link.py", "../../there/train.py", True),
        ("link.py", "sub/up.py", True),
        ("linked/train.py", "../there", True),
        ("link.py", "train.py", False),
        ("sub/link.py", "../train.py", False),
        ("link.py", "{there}/train.py", False),
        ("linked/train.py", "{there}", False),
    ],
)
def test_a_script_behind_a_link_that_leads_nowhere_in_the_pod_is_refused(
    here: Path, link: str, target: str, is_refused: bool
) -> None:
    (here / "sub" / "up.py").symlink_to("../../there/train.py")
    place = here / link if link.endswith("link.py") else (here / link).parent
    place.symlink_to(target.format(there=here.parent / "there"))
    program, root = program_of(link)
    if is_refused:
        with pytest.raises(InputError, match=rf"{link} is a link to .*/there/train.py, outside the directory that is sent"):
            code_of(program, root, is_embedded=True)
    else:
        code_of(program, root, is_embedded=True)


def test_a_module_behind_a_link_that_leads_nowhere_in_the_pod_is_refused(here: Path) -> None:
    (here / "pkg").symlink_to("../there")
    with pytest.raises(InputError, match=r"pkg/train.py is a link to .*/there/train.py, outside the directory"):
        code_of(Program(module="pkg.train"), here, is_embedded=True)


def test_a_link_to_nothing_is_no_script(here: Path) -> None:
    (here / "link.py").symlink_to("gone.py")
    with pytest.raises(InputError, match=r"^link.py is a link to gone.py, which does not exist. Give the path of an existing"):
        program_of("link.py")


def test_what_is_no_file_is_not_taken_for_a_script(here: Path) -> None:
    (here / "pkg.py").mkdir()
    with pytest.raises(InputError, match=r"pkg.py is a directory. Name the script in it, as in pkg.py/train.py"):
        program_of("pkg.py")
    os.mkfifo("pipe.py")
    with pytest.raises(InputError, match=r"pipe.py is not a regular file"):
        program_of("pipe.py")


def test_a_script_that_its_pods_could_not_read_is_refused(closed_script: Path) -> None:
    with pytest.raises(InputError, match=r"/train.py cannot be read: Permission denied. Make it readable"):
        program_of(str(closed_script))


CALLS_NOTHING = "defines functions and calls none of them, so it ends at once; call one at its end"
DOES_NOTHING = "contains no statement that does anything, so it ends at once; is it saved?"
IN_NO_PACKAGE = "fails at line 2: a script is in no package to import from; run it as a module, with -m"
SNIPPETS = {
    "the snippet of a guide": (
        "import torch\n\ndef setup(): ...\n\nclass Model: ...\n\ndef train():\n    setup()\n",
        CALLS_NOTHING,
    ),
    "with a docstring and settings": ('"""Trains."""\nEPOCHS: int = 3\nLR = 1e-3\n\nasync def train(): ...\n', CALLS_NOTHING),
    "with a call": ("def train(): ...\n\ntrain()\n", ""),
    "with a call under a condition": ('def train(): ...\n\nif __name__ == "__main__":\n    train()\n', ""),
    "with the result of a call": ("def train(): ...\n\nmodel = train()\n", ""),
    "with a loop": ("def train(): ...\n\nfor _ in range(3):\n    pass\n", ""),
    "no function": ("import trains_when_it_is_imported\n", ""),
    "nothing": ("", DOES_NOTHING),
    "an import from its package": ("import os\nfrom .data import load\n\nload()\n", IN_NO_PACKAGE),
    "one that may fail": ("try:\n    from .data import load\nexcept ImportError:\n    from data import load\n", ""),
    "one after it has said which": ('__package__ = "pkg"\nfrom .data import load\n\nload()\n', ""),
    "comments and settings": ('"""Trains."""\n# later\nLR = 1e-3\n\nclass Model: ...\n', DOES_NOTHING),
}


@pytest.mark.parametrize(("source", "expected"), SNIPPETS.values(), ids=SNIPPETS)
def test_a_script_that_ends_at_once_is_known(source: str, expected: str) -> None:
    assert idle_reason(source.encode()) == expected


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (b"x = 1\ndef train(:\n", "line 2: "),
        (b"print('caf\xe9')", "can't decode"),
        (b"\xff\xfep\x00", ""),
        (b"x = 1\0", "null"),
    ],
    ids=["a mistake", "Latin-1 without a declaration", "UTF-16", "a null byte"],
)
def test_a_script_that_this_python_cannot_read_is_known(source: bytes, why: str) -> None:
    reason = idle_reason(source)
    assert reason.startswith(f"is not a valid Python 3.{sys.version_info.minor} program: ")
    assert why in reason


@pytest.mark.parametrize(
    ("shell", "given", "expected"),
    [
        pytest.param(
            {"PYTHONPATH": "ROOT/src:ROOT:/usr/lib/x::ROOT/a/b"}, [], "/workspace/code/src:/workspace/code/a/b", id="below"
        ),
        pytest.param({"PYTHONPATH": "/usr/lib/x:ROOT"}, [], "", id="elsewhere, and where it starts"),
        pytest.param({"PYTHONPATH": "ROOT/src"}, [{"name": "PYTHONPATH", "value": "lib"}], "", id="the job has its own"),
        pytest.param({}, [], "", id="none"),
    ],
)
def test_a_python_path_of_the_shell_that_the_program_may_need_is_named(
    tmp_path: Path, shell: dict[str, str], given: list[dict[str, str]], expected: str
) -> None:
    """`PYTHONPATH=src shunter run train.py` failed with advice to change the image."""
    assert dropped_path(tmp_path, {name: text.replace("ROOT", str(tmp_path)) for name, text in shell.items()}, given) == expected
