"""Files are old or new, never half."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shunter.errors import EnvironmentProblem
from shunter.migrate.writing import remove, require_writable, write_whole

ENDLESS = """
import sys
from pathlib import Path
from shunter.migrate.writing import write_whole
print("ready", flush=True)
while True:
    for text in ("a" * 1_000_000, "b" * 1_000_000):
        write_whole(Path(sys.argv[1]), text)
"""


@pytest.mark.integration
def test_a_process_killed_while_it_writes_leaves_the_old_text_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a" * 1_000_000)
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        before = path.stat().st_ino
        while path.stat().st_ino == before:
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert path.read_text() in ("a" * 1_000_000, "b" * 1_000_000)


def test_mode_and_links_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_whole(link, "new\n")
    assert real.read_text() == "new\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["link.yaml", "real.yaml"]


def test_missing_directories_are_made_and_a_missing_file_is_removed_already(tmp_path: Path) -> None:
    write_whole(tmp_path / "a" / "b" / "c.yaml", "x")
    assert (tmp_path / "a" / "b" / "c.yaml").read_text() == "x"
    remove(tmp_path / "nowhere")


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        write_whole(tmp_path / "file" / "below", "y")


def test_asking_whether_a_file_could_be_written_leaves_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    require_writable(path)
    assert list(tmp_path.iterdir()) == []
    path.write_text("old")
    require_writable(path)
    assert path.read_text() == "old"
    for place in (path / "b.json", tmp_path):
        with pytest.raises(EnvironmentProblem, match="cannot be written"):
            require_writable(place)


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    require_writable(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, "text\n")
        assert os.read(reader, 100) == b"text\n"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.integration
def test_standard_output_is_written_to_by_its_name() -> None:
    program = (
        "from pathlib import Path; from shunter.migrate.writing import write_whole; write_whole(Path('/dev/stdout'), 'text')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "text"
