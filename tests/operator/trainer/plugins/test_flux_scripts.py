"""The scripts that start Flux's brokers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.plugins.flux_scripts import Instance, entrypoint_script, init_script
from shunter.operator.trainer.render import rendered


def node(job: TrainJob, runtime: Json) -> Json:
    (replicated,) = rendered(job, runtime).jobset["spec"]["replicatedJobs"]
    found: Json = replicated["template"]["spec"]["template"]["spec"]
    return found


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
