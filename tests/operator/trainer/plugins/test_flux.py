"""Flux: how the command is wrapped, the scripts, the certificate, and what admission refuses."""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator import needs
from shunter.operator.trainer.plugins.curve_certificate import certificate, z85
from shunter.operator.trainer.plugins.flux import SETTINGS
from shunter.operator.trainer.plugins.flux_scripts import Instance, entrypoint_script, init_script
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
@pytest.mark.parametrize(
    ("nodes", "tasks", "gpus", "resources", "wanted"),
    [
        (1, 1, 0, ["--hosts=j-node-0-[0]", "--cores=0"], ["-N1", "-n1"]),
        (4, 6, 0, ["--hosts=j-node-0-[0-3]", "--cores=0-5"], ["-N4", "-n24"]),
        (2, 2, 4, ["--hosts=j-node-0-[0-1]", "--cores=0-1", "--gpu=0-3"], ["-N2", "-n4", "-g2"]),
        (2, 4, 2, ["--hosts=j-node-0-[0-1]", "--cores=0-3", "--gpu=0-1"], ["-N2", "-n8"]),
    ],
    ids=["one", "several", "GPUs for each task", "tasks share GPUs"],
)
def test_the_scripts_say_how_large_the_instance_is(
    nodes: int, tasks: int, gpus: int, resources: list[str], wanted: list[str]
) -> None:
    instance = Instance("j", "ns", nodes, tasks, gpus, "eth0", "fcfs")
    assert words_of(init_script(instance), "resources") == resources
    assert words_of(entrypoint_script(instance), "wanted") == wanted


def words_of(script: str, name: str) -> list[str]:
    """A list of the script, as the shell reads it."""
    start = script.split("flux=/mnt/flux")[0]
    shown = subprocess.run(
        ["bash", "-c", f'{start}\nprintf "%s\\n" "${{{name}[@]}}"'], capture_output=True, text=True, check=True
    )
    return shown.stdout.splitlines()


@pytest.mark.integration
@pytest.mark.parametrize("is_main", [True, False], ids=["the first pod runs the command", "the others only a broker"])
def test_the_entrypoint_runs(tmp_path: Path, is_main: bool) -> None:
    """With programs that only say how they were called, and directories of its own."""
    instance = Instance("j", "ns", 2, 2, 0, "eth0", "fcfs")
    script = (
        entrypoint_script(instance).replace("/mnt/flux", str(tmp_path / "flux")).replace("cp /curve/", f"cp {tmp_path}/curve/")
    )
    script = script.replace("/opt/software", str(tmp_path / "software"))
    for directory in ("flux/software", "flux/view/bin", "curve", "software"):
        (tmp_path / directory).mkdir(parents=True)
    (tmp_path / "curve/curve.cert").write_text("key")
    program(tmp_path / "flux/view/bin/flux", 'printf "[%s]" "$@"')
    program(tmp_path / "flux/view/bin/hostname", f"echo {'j-node-0-0' if is_main else 'j-node-0-1'}")
    done = subprocess.run(["bash", "-c", script, "x", "sh -c 'a b'", "-r"], capture_output=True, text=True, check=True)
    called = re.findall(r"\[(.*?)\]", done.stdout)
    assert called[:2] == ["broker", f"--config-path={tmp_path}/flux/view/etc/flux/config"]
    submitted = ["flux", "submit", "-N2", "-n4", "--quiet", "--watch", "sh", "-c", "a b", "-r"]
    assert (called[-len(submitted) :] == submitted) == is_main
    assert (tmp_path / "flux/view/curve/curve.cert").stat().st_mode & 0o777 == 0o400


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


@pytest.mark.integration
def test_the_brokers_configuration_names_all_hosts_and_the_certificate(tmp_path: Path) -> None:
    instance = Instance("j", "ns", 3, 1, 0, "ib0", "easy")
    script = init_script(instance).replace("/mnt/flux", str(tmp_path / "flux")).replace("/opt/", f"{tmp_path}/opt/")
    (tmp_path / "opt/view/bin").mkdir(parents=True)
    program(tmp_path / "opt/view/bin/flux", 'echo "$@"')
    subprocess.run(["bash", "-c", script], check=True, capture_output=True)
    view = tmp_path / "flux/view"
    assert (view / "etc/flux/system/R").read_text() == "R encode --hosts=j-node-0-[0-2] --cores=0\n"
    broker = (view / "etc/flux/config/broker.toml").read_text()
    assert 'hosts = [ { host = "j-node-0-[0-2]" } ]' in broker
    for line in (
        'default_bind = "tcp://ib0:%p"',
        'default_connect = "tcp://%h.j.ns.svc.cluster.local:%p"',
        "default_port = 8050",
        'queue-policy = "easy"',
        f'curve_cert = "{view}/curve/curve.cert"',
    ):
        assert line in broker


@pytest.mark.integration
def test_an_image_without_flux_is_known_by_what_the_script_says(tmp_path: Path) -> None:
    script = init_script(Instance("j", "ns", 1, 1, 0, "eth0", "fcfs")).replace("/mnt/flux", str(tmp_path))
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert needs.for_missing(done.stderr).startswith("flux needs Flux below /opt/view")
    assert SETTINGS["FLUX_VIEW_IMAGE"] in needs.for_missing(done.stderr)


def test_the_certificate_is_a_pair_and_not_made_of_what_others_can_read(make_trainjob: Make, runtime_of: Make) -> None:
    text = base64.b64decode(certificate("j", b"r" * 32)).decode()
    keys = dict(re.findall('(public|secret)-key = "(.{40})"', text))
    pair = X25519PrivateKey.from_private_bytes(unz85(keys["secret"]))
    assert z85(pair.public_key().public_bytes_raw()) == keys["public"]
    (make,) = rendered(make_trainjob(), runtime_of({"flux": {}})).secrets.values()
    assert make(b"a" * 32)["data"] != make(b"b" * 32)["data"]
    assert make(b"a" * 32)["metadata"]["name"] == "mnist-flux-curve"


def unz85(text: str) -> bytes:
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    groups = (text[start : start + 5] for start in range(0, len(text), 5))
    return b"".join(
        sum(alphabet.index(char) * 85 ** (4 - place) for place, char in enumerate(group)).to_bytes(4, "big") for group in groups
    )


def test_z85_is_that_of_the_rfc() -> None:
    """ZeroMQ RFC 32's own example."""
    assert z85(bytes([0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B])) == "HelloWorld"


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
