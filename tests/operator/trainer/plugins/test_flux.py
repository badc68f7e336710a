"""Flux: how the command is wrapped, the scripts, the certificate, and what admission refuses."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator import needs
from shunter.operator.trainer.plugins.flux import SETTINGS
from shunter.operator.trainer.plugins.flux_scripts import Instance, init_script
from shunter.operator.trainer.render import rendered

Make = Callable[..., Any]
POD = {"containers": [{"name": "node", "image": "img", "command": ["app", "--go"], "args": ["-r"]}]}


def node(job: TrainJob, runtime: Json) -> Json:
    (replicated,) = rendered(job, runtime).jobset["spec"]["replicatedJobs"]
    found: Json = replicated["template"]["spec"]["template"]["spec"]
    return found


def scripts(job: TrainJob, runtime: Json) -> Json:
    (config_map,) = rendered(job, runtime).objects
    assert config_map["metadata"]["name"] == "mnist-flux-entrypoint"
    found: Json = config_map["data"]
    return found


@pytest.mark.parametrize(
    ("trainer", "words"),
    [
        pytest.param({"numNodes": 2}, "app --go", id="the runtime's command"),
        pytest.param({"args": ["-x"]}, "app --go -x", id="with the job's arguments"),
        pytest.param({"command": ["lmp", "-v", "x", "16"]}, "lmp -v x 16", id="the job's command"),
        pytest.param({"command": ["sh", "-c", "echo $HOME; ls"]}, "sh -c 'echo $HOME; ls'", id="words stay words"),
        pytest.param({}, "app --go", id="without a number of nodes"),
        pytest.param(None, "app --go", id="without a trainer section"),
    ],
)
def test_the_script_is_told_the_command(make_trainjob: Make, runtime_of: Make, trainer: Json | None, words: str) -> None:
    container = node(make_trainjob(trainer=trainer), runtime_of({"flux": {}}, node=POD))["containers"][0]
    assert container["command"] == ["/bin/bash", "/etc/flux-config/entrypoint.sh", words]
    assert container["args"] == ["-r"]


@pytest.mark.parametrize(("length", "volume"), [(47, f"{'j' * 47}-flux-entrypoint"), (48, "flux-entrypoint")])
def test_the_longest_name_of_a_job_leaves_room_for_a_volume(
    make_trainjob: Make, runtime_of: Make, length: int, volume: str
) -> None:
    pod = node(make_trainjob(metadata={"name": "j" * length}), runtime_of({"flux": {}}, node=POD))
    (source,) = (one for one in pod["volumes"] if "configMap" in one)
    assert (source["name"], source["configMap"]["name"]) == (volume, f"{'j' * length}-flux-entrypoint")
    assert volume in [mount["name"] for mount in pod["initContainers"][0]["volumeMounts"]]
    assert volume in [mount["name"] for mount in pod["containers"][0]["volumeMounts"]]


def test_settings_come_from_the_runtime_and_then_from_the_job(make_trainjob: Make, runtime_of: Make) -> None:
    environment = [{"name": "FLUX_QUEUE_POLICY", "value": "easy"}, {"name": "FLUX_NETWORK_DEVICE", "value": "ib0"}]
    pod = {"containers": [{"name": "node", "image": "img", "env": environment}]}
    job = make_trainjob(
        trainer={"env": [{"name": "FLUX_NETWORK_DEVICE", "value": "eth9"}, {"name": "FLUX_VIEW_IMAGE", "value": "v"}]}
    )
    runtime = runtime_of({"flux": {}}, node=pod)
    script = scripts(job, runtime)["init.sh"]
    assert "device=eth9\n" in script
    assert "queue_policy=easy\n" in script
    assert node(job, runtime)["initContainers"][0]["image"] == "v"
    plain = scripts(make_trainjob(), runtime_of({"flux": {}}))["init.sh"]
    assert "device=eth0\n" in plain
    assert "queue_policy=fcfs\n" in plain


@pytest.mark.integration
def test_an_image_without_flux_is_known_by_what_the_script_says(tmp_path: Path) -> None:
    script = init_script(Instance("j", "ns", 1, 1, 0, "eth0", "fcfs")).replace("/mnt/flux", str(tmp_path))
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert needs.for_missing(done.stderr).startswith("flux needs Flux below /opt/view")
    assert SETTINGS["FLUX_VIEW_IMAGE"] in needs.for_missing(done.stderr)


@pytest.mark.parametrize(
    ("policy", "trainer", "pod", "wanted"),
    [
        pytest.param({}, {"numProcPerNode": 1}, {}, [], id="good"),
        pytest.param(
            {"numProcPerNode": 0},
            {},
            {},
            ["spec.trainer.numProcPerNode: Invalid value: 0: must be greater than or equal to 1 for Flux TrainJob"],
            id="no process by the runtime",
        ),
        pytest.param(
            {},
            {"numProcPerNode": -1},
            {"initContainers": [{"name": "flux-installer", "image": "i"}]},
            [
                "spec.trainer.numProcPerNode: Invalid value: -1: must be greater than or equal to 1 for Flux TrainJob",
                "spec.trainer.initContainers: Invalid value: \"flux-installer\": InitContainer 'flux-installer' is reserved",
            ],
            id="both faults at once",
        ),
    ],
)
def test_what_admission_refuses(
    make_trainjob: Make, runtime_of: Make, refusals: Make, policy: Json, trainer: Json, pod: Json, wanted: list[str]
) -> None:
    assert refusals(make_trainjob(trainer=trainer), runtime_of({"flux": policy}, node=pod)) == wanted
