"""Files that cannot be read or written, and on which volume they are."""

from __future__ import annotations

import pytest

from doctor.evidences import ended, failed, log, pod, traceback
from doctor.rule_cases import DENIED, FULL, MOUNTED, SAVE_DENIED
from job_evidence import NOW
from shunter.api.meta import Json
from shunter.doctor.diagnosing import diagnose

CLAIM = {"persistentVolumeClaim": {"claimName": "weights"}}
HOST = {"hostPath": {"path": "/srv"}}


@pytest.mark.parametrize(
    ("said", "container", "volume", "cause", "remedy"),
    [
        pytest.param(
            [f"{DENIED}: '/data/{rank}.pt'" for rank in range(3)],
            MOUNTED,
            CLAIM,
            "ranks 0-2 are denied access to /data/0.pt, /data/1.pt and 1 more on PersistentVolumeClaim weights"
            " (mounted at /data)",
            "or set fsGroup if the volume supports it.",
            id="files of one claim are one verdict",
        ),
        pytest.param(
            [f"{DENIED}: '7.pt'"],
            {**MOUNTED, "workingDir": "/data"},
            HOST,
            "rank 0 is denied access to /data/7.pt on hostPath data (mounted at /data)",
            "fsGroup does not change who owns a hostPath volume.",
            id="a relative path is in the container's workingDir, and fsGroup does not help on a hostPath",
        ),
        pytest.param(
            [traceback("OSError: [Errno 30] Read-only file system: 'result.csv'")],
            MOUNTED,
            HOST,
            "rank 0 cannot write: a file system that is not named is read-only",
            "Files under $SHUNTER_CHECKPOINT_DIR are kept; /tmp is deleted with the pod.",
            id="a relative path is in the directory that run mounts read only",
        ),
        pytest.param(
            [f"{DENIED}: '7.pt'"],
            MOUNTED,
            HOST,
            "rank 0 is denied access to 7.pt",
            "change its owner or mode.",
            id="no volume is accused for a relative path whose directory the image says",
        ),
        pytest.param(
            [f"{DENIED}: '/root/.cache'"],
            MOUNTED,
            CLAIM,
            "rank 0 is denied access to /root/.cache on the container's own file system",
            "change its owner or mode.",
            id="fsGroup does not help outside volumes",
        ),
        pytest.param(
            [f"open('/data/config')\n    save(state, path)\n{SAVE_DENIED}"],
            MOUNTED,
            CLAIM,
            "rank 0 is denied access to a file",
            "change its owner or mode.",
            id="no volume is accused where torch names no path",
        ),
        pytest.param(
            [FULL.partition(":")[0] + ": [Errno 28] No space left on device"],
            MOUNTED,
            CLAIM,
            "rank 0 cannot write: a file system that is not named is full",
            "Free space there, or make the volume larger.",
            id="nor where a message of a full one names none",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_its_place_and_what_helps_there(
    said: list[str], container: Json, volume: Json, cause: str, remedy: str
) -> None:
    spec = {"volumes": [{"name": "data", **volume}]}
    pods = [pod(rank, container=container, spec=spec, **ended(1)) for rank in range(len(said))]
    logs = tuple(log(rank, traceback(text)) for rank, text in enumerate(said))
    evidence = failed(*pods, logs=logs)
    (verdict,) = diagnose(evidence, NOW).verdicts
    assert (verdict.id, verdict.cause) == ("T08", cause)
    assert verdict.remedy.endswith(remedy)
