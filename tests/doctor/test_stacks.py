"""What a container's processes do, by what sampling.sh and py-spy write."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from job_evidence import NOW, v1_job
from shunter.doctor import stacks
from shunter.doctor.evidence import Evidence, Process, Sample
from shunter.doctor.redaction import redacted, short_command
from shunter.doctor.waiting import doing, trainers

PY_SPY = Path(sys.executable).parent / "py-spy"
WORK = textwrap.dedent("""
    import mmap, os, time

    if "DRIVER" in os.environ:
        driver = mmap.mmap(os.open(os.environ["DRIVER"], os.O_RDWR), 0)
        open("loaded", "w").close()

    def read_forever():
        time.sleep(60)

    read_forever()
""")


def sampled(program: str, environment: dict[str, str], tmp_path: Path) -> Process:
    """This machine's process that runs WORK, as the script sees it once it has a stack and has loaded DRIVER, if any."""
    path = tmp_path / "work.py"
    path.write_text(WORK)
    process = subprocess.Popen([sys.executable, str(path)], env=environment, cwd=tmp_path)
    try:
        deadline = time.monotonic() + 30
        while "DRIVER" in environment and not (tmp_path / "loaded").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        while True:
            done = subprocess.run(stacks.command(program), capture_output=True, text=True, timeout=60, check=False)
            found = [one for one in stacks.container_sample("p", "c", done.stdout).processes if one.pid == process.pid]
            sleeps = [one for one in found if one.state == "S" and (one.frames or not program)]
            if sleeps or time.monotonic() > deadline:
                return found[0]
    finally:
        process.kill()
        process.wait()


@pytest.mark.integration
@pytest.mark.parametrize("stopped_before", [False, True])
def test_a_process_that_is_looked_at_stays_as_it_was(stopped_before: bool, tmp_path: Path) -> None:
    """py-spy stops a process to read it. One that lets go too early leaves it stopped, as this one does."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    program = tmp_path / "stops"
    program.write_text(f"#!/bin/sh\n[ $3 = {process.pid} ] && kill -STOP $3\necho $@ >> {tmp_path}/asked; echo '[]'\n")
    program.chmod(0o755)
    try:
        if stopped_before:
            process.send_signal(signal.SIGSTOP)
        subprocess.run(stacks.command(str(program)), capture_output=True, timeout=60, check=True)
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2][0]
        assert (state == "T") is stopped_before
        (asked,) = (line for line in (tmp_path / "asked").read_text().splitlines() if f"--pid {process.pid} " in line)
        assert asked.endswith("--nonblocking") is stopped_before, "py-spy fails for what is stopped already"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.integration
@pytest.mark.parametrize("program", ["sh", "sleep"])
def test_a_program_that_a_rank_started_is_sampled(program: str, tmp_path: Path) -> None:
    """An upload by another program was taken for a rank that hangs, while that program worked."""
    words = {"sh": ["sh", "-c", "sleep 60; true"], "sleep": ["sleep", "60"]}[program]
    code = f"import subprocess; child = subprocess.Popen({words}); print(child.pid, flush=True); child.wait()"
    rank = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert rank.stdout is not None
    try:
        child = int(rank.stdout.readline())
        deadline = time.monotonic() + 30
        while Path(f"/proc/{child}/exe").resolve().name.startswith("python") and time.monotonic() < deadline:
            time.sleep(0.02)
        done = subprocess.run(stacks.command(""), capture_output=True, text=True, timeout=60, check=True)
        found = {one.pid: one for one in stacks.container_sample("p", "c", done.stdout).processes}
        assert (found[child].parent, found[child].is_python, found[child].command) == (rank.pid, False, program)
        of_both = Sample(at=datetime.now(UTC), processes=(found[rank.pid], found[child]))
        assert [one.pid for one in trainers(of_both)] == [rank.pid], "the program is no rank"
    finally:
        os.killpg(rank.pid, signal.SIGKILL)
        rank.communicate()


def test_a_shell_that_started_a_rank_is_no_process_of_it() -> None:
    output = (
        "H 100 none\nO 1 0 S 3 9\nC sh -c run\nP 7 1 S 250 80\nC python train.py\nO 9 7 S 1 1\nC aws s3 cp\nO 20 1 S 0 0\nC sh\n"
    )
    found = stacks.container_sample("p", "c", output).processes
    assert [(one.pid, one.is_python, one.command) for one in found] == [(7, True, "python train.py"), (9, False, "aws s3")]


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("sshpass -p hunter2secret rsync -a /ckpt me@host:/b", "sshpass"),
        ("curl -u me:hunter2secret https://files/x", "curl"),
        ("curl -H Authorization: token hunter2secret https://files/x", "curl"),
        ("/usr/bin/mysqldump -phunter2secret runs", "mysqldump"),
        ("aws configure set aws_secret_access_key hunter2secret", "aws configure"),
        ("aws --profile hunter2secret s3 cp /ckpt s3://b", "aws"),
        ("mc alias set s3 https://s3 key hunter2secret", "mc alias"),
        ("lftp -u me,hunter2secret ftp://files", "lftp"),
        ("lftp ftp://me:hunter2secret@files", "lftp"),
        ("openssl enc -aes-256-cbc -k hunter2secret", "openssl"),
        ("smbclient //files/share hunter2secret", "smbclient"),
        ("git hunter2Secret", "git"),
        ("sh -c PASSWORD=hunter2secret /opt/upload.sh", "sh"),
        ("bash /opt/upload.sh hunter2secret", "bash /opt/upload.sh"),
        ("/opt/bin/python3 -u train.py --hub hunter2secret", "python3 train.py"),
        ("rsync", "rsync"),
        ("", ""),
    ],
)
def test_of_a_command_line_nothing_that_may_be_a_credential_is_collected_shown_or_recorded(command: str, kept: str) -> None:
    output = f"H 100 none\nP 7 1 S 250 80\nC {command}\nO 9 7 S 1 1\nC {command}\n"
    collected = stacks.container_sample("p", "c", output).processes
    assert [one.command for one in collected] == [kept, kept]
    of_others = tuple(msgspec.structs.replace(one, command=command) for one in collected)
    evidence = redacted(Evidence(job=v1_job(1), at=NOW, samples=(Sample(at=NOW, processes=of_others),)))
    assert [one.command for one in evidence.samples[0].processes] == [kept, kept]
    assert short_command(kept) == kept


@pytest.mark.integration
def test_a_warm_start_in_place_of_a_shell_is_no_process_of_the_program(tmp_path: Path) -> None:
    """Such a first process is Python by its program, and the shell by its command line (docs/warm-start.md)."""
    words = ["-c", "print(flush=True); input()"]
    processes = [
        subprocess.Popen([name, *words], executable=sys.executable, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for name in ("sh", "python")
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        done = subprocess.run(stacks.command(""), capture_output=True, text=True, timeout=60, check=False)
        seen_pids = {one.pid for one in stacks.container_sample("p", "c", done.stdout).processes}
        assert [process.pid in seen_pids for process in processes] == [False, True]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@pytest.mark.integration
def test_the_script_finds_rank_command_and_stack_of_a_process(tmp_path: Path) -> None:
    if not PY_SPY.exists():
        pytest.skip("py-spy is not installed: scripts/setup brings it")
    found = sampled(str(PY_SPY), {"RANK": "3", "PATH": "/usr/bin:/bin"}, tmp_path)
    assert (found.rank, "work.py" in found.command, found.state) == (3, True, "S")
    assert found.frames[0].function == "read_forever"
    assert found.frames[0].is_own
    assert doing(found.frames) == "own"


@pytest.mark.integration
def test_without_py_spy_times_and_states_are_there_and_no_stack(tmp_path: Path) -> None:
    found = sampled("", {"RANK": "1", "PATH": "/usr/bin:/bin"}, tmp_path)
    assert (found.rank, found.frames, found.state in "RSD") == (1, (), True)


@pytest.mark.integration
@pytest.mark.parametrize(("library", "uses_cuda"), [("libcuda.so.1", True), ("libcudart.so.13", False), ("", False)])
def test_a_process_uses_cuda_when_it_has_loaded_the_driver_s_library(library: str, uses_cuda: bool, tmp_path: Path) -> None:
    path = tmp_path / library
    if library:
        path.write_bytes(b"driver")
    environment = {"RANK": "1", "PATH": "/usr/bin:/bin", **({"DRIVER": str(path)} if library else {})}
    assert sampled("", environment, tmp_path).uses_cuda is uses_cuda


def test_of_a_main_thread_that_waits_for_another_at_the_end_the_other_is_shown_first() -> None:
    """`dump` without a program's own lines is a thread of a library, which ends with the process."""
    calls = {
        "MainThread": [("_shutdown", "/usr/lib/python3.11/threading.py", 1590)],
        "Monitor": [("wait", "/usr/lib/python3.11/threading.py", 331)],
        "Thread-1": [("upload", "/workspace/code/train.py", 9), ("run", "/usr/lib/python3.11/threading.py", 982)],
    }
    dump = [
        {"thread_name": name, "frames": [{"name": one, "filename": file, "line": line} for one, file, line in called]}
        for name, called in calls.items()
    ]
    names = [frame.function for frame in stacks.frames(json.dumps(dump))]
    assert names == ["upload", "run", "_shutdown"]
    calls_at_work = [{"thread_name": "MainThread", "frames": dump[2]["frames"]}, dump[1]]
    assert [frame.function for frame in stacks.frames(json.dumps(calls_at_work))] == ["upload", "run"]


def test_a_dump_that_is_nested_too_deeply_has_no_frames() -> None:
    assert stacks.frames("[" * 100_000) == ()


WHOLE = (
    "H 100 py-spy\n"
    "P 10 1 S 500 15\nE RANK=12\nG 1\nC python t.py\n"
    'S [{"thread_name": "MainThread", "frames": [{"name": "main", "filename": "t.py", "line": 3}]}]\n'
    "O 20 10 S 1 12\nC wandb-core\n"
    "P 30 1 R 100 25\nE RANK=13\nC python t.py\n"
)


def test_of_output_that_is_cut_off_anywhere_what_is_whole_is_read() -> None:
    """A stream that ended within a line raised ValueError, and `RANK=1` of 12 would have been another rank."""
    whole = stacks.container_sample("p", "c", WHOLE).processes
    assert [(one.pid, one.rank, one.switches) for one in whole] == [(10, 12, 15), (20, None, 12), (30, 13, 25)]
    for length in range(len(WHOLE)):
        read = stacks.container_sample("p", "c", WHOLE[:length]).processes
        for one, same in zip(read, whole, strict=False):
            assert (one.pid, one.parent, one.switches, one.cpu_seconds) == (
                same.pid,
                same.parent,
                same.switches,
                same.cpu_seconds,
            )
            assert one.rank in (None, same.rank)


@pytest.mark.parametrize("first", ["P 40", "P 40 evil", "O 40 1 S", "P  ", "H", "H 1", "H x y"])
def test_a_first_line_that_is_not_whole_gives_its_lines_to_no_other_process(first: str) -> None:
    read = stacks.container_sample("p", "c", f"{WHOLE}{first}\nE RANK=7\nC other\n").processes
    if first.startswith("H"):
        assert len(read) == 3
    else:
        assert read == stacks.container_sample("p", "c", WHOLE).processes
