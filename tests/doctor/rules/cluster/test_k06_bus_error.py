"""When /dev/shm is too small, by what torch, NCCL and Python say of it."""

from __future__ import annotations

import pytest

from doctor.evidences import ended, failed, log, pod, traceback
from job_evidence import NOW
from shunter.api.meta import Json
from shunter.doctor.diagnosing import diagnose

NO_SPACE = "No space left on device"
NCCL = "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:77, unhandled system error\nLast error:\n"
SEGMENT = "Error while creating shared memory segment /dev/shm/nccl-9sDqj9 (size 9637888)"


@pytest.mark.parametrize(
    ("said", "id"),
    [
        pytest.param(f"RuntimeError: unable to write to file </torch_1_2_0>: {NO_SPACE} (28)", "K06", id="torch cannot write"),
        pytest.param(
            f"RuntimeError: unable to allocate shared memory(shm) for file </torch_1_2_0>: {NO_SPACE} (28)",
            "K06",
            id="or allocate",
        ),
        pytest.param("RuntimeError: DataLoader worker (pid 9) is killed by signal: Bus error.", "K06", id="a worker got SIGBUS"),
        pytest.param(f"{NCCL}{SEGMENT}", "K06", id="NCCL cannot make a segment"),
        pytest.param(f"{NCCL}{SEGMENT}, error: {NO_SPACE} (28)", "K06", id="NCCL says why"),
        pytest.param(f"{NCCL}{SEGMENT}, error: Permission denied (13)", "T00", id="NCCL says that something else is wrong"),
        pytest.param(f"OSError: [Errno 28] {NO_SPACE}: '/dev/shm/batch-7'", "K06", id="a file of the program's own"),
        pytest.param(f"OSError: [Errno 28] {NO_SPACE}: '/data/dev/shm/7'", "T08", id="a file of another volume"),
        pytest.param("RuntimeError: DataLoader worker (pid(s) 12) exited unexpectedly", "T00", id="a worker that was killed"),
    ],
)
def test_shared_memory_is_short_only_where_a_message_says_so(said: str, id: str) -> None:
    verdict = diagnose(failed(pod(0, **ended(1)), logs=(log(0, traceback(said)),)), NOW).verdicts[0]
    assert verdict.id == id
    if id == "K06":
        assert (verdict.confidence, verdict.cause) == ("certain", "rank 0 ran out of shared memory")


@pytest.mark.parametrize(
    ("mounts", "confidence"),
    [
        pytest.param([], "likely", id="nothing is mounted at /dev/shm"),
        pytest.param([{"name": "s", "mountPath": "/dev/shm"}], "possible", id="a volume is mounted there"),
        pytest.param(
            [{"name": "s", "mountPath": "/dev/shm/"}], "possible", id="a volume is mounted there, with a slash at the end"
        ),
        pytest.param([{"name": "s", "mountPath": "/dev/shm2"}], "likely", id="a volume is mounted at a similar path"),
    ],
)
def test_a_bus_error_without_a_message_is_never_certain(mounts: list[Json], confidence: str) -> None:
    evidence = failed(pod(0, container={"volumeMounts": mounts}, **ended(135)), logs=(log(0, "loading"),))
    (verdict,) = diagnose(evidence, NOW).verdicts
    assert (verdict.id, verdict.confidence) == ("K06", confidence)
    assert ("Mount an emptyDir" in verdict.remedy) == (confidence == "likely")
