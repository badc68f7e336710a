"""A volume is mounted at a path of its own, or the job is refused: the server takes a job whose pods can never start."""

from __future__ import annotations

import re

import pytest

from shunter.errors import InputError
from shunter.launch import option_texts
from shunter.launch.code.delivery import Code, ImageCode, MountedCode, PackedCode
from shunter.launch.fabric import Fabric, require_profile
from shunter.launch.objects import launch
from shunter.launch.options import Checkpoints, ClaimVolume, LaunchOptions, Program
from shunter.launch.runtimes.choice import Runtime, of_object
from shunter.operator.trainer.runtimes import shipped

RUNTIMES = {found["metadata"]["name"]: of_object(found) for found in shipped()}
MOUNTED, PACKED = MountedCode("/home/me/project"), PackedCode(b"archive", 1)
TORCH, MPI = RUNTIMES["shunter-torch"], RUNTIMES["deepspeed-distributed"]


def objects(code: Code, runtime: Runtime, *texts: str, fabric: str = "") -> None:
    profile = require_profile(fabric)
    options = LaunchOptions(
        program=Program(path="train.py"),
        checkpoints=Checkpoints(claim="runs"),
        volumes=tuple(map(option_texts.volume, texts)),
        fabric=Fabric(profile) if profile else None,
    )
    launch(options, code, runtime, name="train", namespace="team")


REFUSED: dict[str, tuple[Code, Runtime, list[str], str]] = {
    "over the code": (MOUNTED, TORCH, ["once:/workspace/code"], "--volume once:/workspace/code: the code is mounted there"),
    "over the code, in other words": (PACKED, TORCH, ["once://workspace/./code/"], "the code is mounted there"),
    "within the code": (MOUNTED, TORCH, ["once:/workspace/code/data"], "the code is mounted at /workspace/code"),
    "around the code": (MOUNTED, TORCH, ["once:/workspace"], "at /workspace/"),
    "over what was sent": (PACKED, TORCH, ["once:/workspace/packed"], "the code is mounted there"),
    "over the checkpoints": (ImageCode(), TORCH, ["once:/workspace/checkpoints"], "the checkpoints are mounted there"),
    "over the shared memory of the runtime": (MOUNTED, TORCH, ["once:/dev/shm"], "runtime shunter-torch mounts a volume there"),
    "over the hosts of mpirun": (MOUNTED, MPI, ["once:/etc/mpi"], "the list of hosts is mounted there"),
    "over the keys of mpirun": (MOUNTED, MPI, ["once:/home/mpiuser"], "the keys of SSH are mounted at /home/mpiuser/.ssh"),
    "over the tokens": (MOUNTED, TORCH, ["once:/var/run/secrets/kubernetes.io"], "the job's tokens are at /var/run/secrets"),
    "over everything": (MOUNTED, TORCH, ["once:/"], "--volume once:/: that path belongs to the container's operating system"),
    "over the processes": (MOUNTED, TORCH, ["once:/proc/x"], "that path belongs to the container's operating system"),
    "within another": (MOUNTED, TORCH, ["a:/data", "b:/data/set"], "--volume b:/data/set: claim a is mounted at /data"),
    "around another": (MOUNTED, TORCH, ["a:/data/set", "b:/data"], "--volume b:/data: claim a is mounted at /data/set"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "runtime", "texts", "message"), REFUSED.values(), ids=REFUSED)
def test_a_volume_at_a_path_that_is_taken_is_refused(code: Code, runtime: Runtime, texts: list[str], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        objects(code, runtime, *texts)


def test_a_volume_over_that_of_a_fabric_is_refused() -> None:
    with pytest.raises(InputError, match="--fabric tcpxo mounts a volume there"):
        objects(MOUNTED, RUNTIMES["torch-distributed"], "once:/dev/shm", fabric="tcpxo")


def test_volumes_beside_each_other_are_mounted() -> None:
    objects(MOUNTED, TORCH, "a:/data", "b:/data2", "c:/workspace/codes", "d:/dev/data:ro")
    objects(ImageCode(), RUNTIMES["torch-distributed"], "a:/workspace/code", "b:/dev/shm")


@pytest.mark.parametrize("path", ["", "data", "./data", "/a:b"])
def test_a_path_that_is_not_absolute_is_refused(path: str) -> None:
    with pytest.raises(InputError, match="is not an absolute path"):
        LaunchOptions(program=Program(path="train.py"), volumes=(ClaimVolume("a", path),))
    with pytest.raises(InputError, match="is invalid"):
        option_texts.volume(f"a:{path}")
