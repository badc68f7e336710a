"""What options ask of the embedded cluster's one machine and it does not have: said or refused, never dropped in silence."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from shunter.cluster.node.content.images import load_images
from shunter.errors import InputError
from shunter.launch.embedded import missing_module, notes, require_fabric_device, runs_in_local_python
from shunter.launch.fabric import Fabric, require_profile
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.runtimes.choice import of_object
from shunter.operator.trainer.runtimes import shipped

TRAIN = LaunchOptions(program=Program(path="train.py"))
MACHINE = {"cpu": "2", "memory": "8Gi"}
TORCH = next(of_object(found) for found in shipped() if found["metadata"]["name"] == "torch-distributed")


def test_what_the_machine_does_not_have_is_said() -> None:
    images = load_images(None)
    asked = dataclasses.replace(TRAIN, cpus="999", memory="9Gi", gpus=8, image="me/nothere:1")
    assert notes(asked, MACHINE, images) == [
        "image me/nothere:1 maps to the Python environment of shunter; see: shunter images add",
        "each node asked for 999 cpu, this machine has 2",
        "each node asked for 9Gi memory, this machine has 8Gi",
        "each node asked for 8 nvidia.com/gpu, this machine has none: runs on CPU",
    ]
    assert notes(dataclasses.replace(TRAIN, cpus="2", memory="8Gi"), MACHINE, images) == []


def test_nodes_that_cannot_all_run_at_once_are_told_of() -> None:
    images, machine = load_images(None), {**MACHINE, "pods": "253"}
    assert notes(dataclasses.replace(TRAIN, nodes=253), machine, images) == []
    assert notes(dataclasses.replace(TRAIN, nodes=254), machine, images) == [
        "the job has 254 nodes, and this machine takes 253 pods: they cannot all run at once"
    ]


def test_an_image_that_a_file_maps_is_known(tmp_path: Path) -> None:
    (tmp_path / "images.yaml").write_text("- image: 'me/*'\n  venv: /opt/me\n")
    images = load_images(tmp_path / "images.yaml", tmp_path / "made")
    mine = dataclasses.replace(TRAIN, image="me/train:1")
    assert (notes(mine, MACHINE, images), runs_in_local_python(mine, TORCH, images)) == ([], False)
    assert runs_in_local_python(TRAIN, TORCH, images)
    assert not images.is_known("other:1")


def test_a_fabric_whose_device_the_machine_lacks_is_refused() -> None:
    profile = require_profile("efa")
    assert profile is not None
    device = profile.devices[0].name
    asked = dataclasses.replace(TRAIN, fabric=Fabric(profile, device, 4))
    with pytest.raises(InputError, match=f"--fabric efa: this machine has no {device}"):
        require_fabric_device(asked, MACHINE)
    require_fabric_device(asked, {**MACHINE, device: "4"})
    require_fabric_device(TRAIN, MACHINE)


@pytest.mark.parametrize(
    ("module", "missing"),
    [("nopkg.mod", "nopkg"), ("nopkg", "nopkg"), ("here.mod", ""), ("alone", ""), ("json.tool", "")],
)
def test_a_module_that_is_nowhere_is_named(tmp_path: Path, module: str, missing: str) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "alone.py").touch()
    assert missing_module(Program(module=module), tmp_path) == missing
    assert missing_module(Program(path="train.py"), tmp_path) == ""
