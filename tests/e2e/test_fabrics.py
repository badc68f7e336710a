"""Fast networks, as far as a cluster without one can judge: what is made of a profile is accepted, and reaches the pods."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from e2e.running_cluster import Cluster, eventually
from shunter.api.meta import Json
from shunter.fabrics import Profile, profiles

pytestmark = pytest.mark.timeout(240)

ROOT = Path(__file__).resolve().parents[2]
MACHINES = {"efa": "p5.48xlarge", "gib": "a3-ultragpu-8g", "ib": "Standard_ND96isr_H100_v5", "tcpxo": "a3-megagpu-8g"}


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "train.py").write_text("print('trained')\n")
    return str(tmp_path / "train.py")


def pod_template(cluster: Cluster, namespace: str, jobset: str) -> Json:
    """Of the training pods of a job, once its JobSet is there."""

    def found() -> list[Json]:
        return [one for one in cluster.get("jobsets", "-n", namespace)["items"] if one["metadata"]["name"] == jobset]

    eventually(found)
    (job,) = found()[0]["spec"]["replicatedJobs"]
    template: Json = job["template"]["spec"]["template"]
    return template


def assert_has(template: Json, profile: Profile, machine: str) -> None:
    """Everything of the profile stands in a pod template."""
    spec = template["spec"]
    (node,) = [container for container in spec["containers"] if container["name"] == "node"]
    values = {variable["name"]: variable.get("value") for variable in node["env"]}
    assert {variable.name: values.get(variable.name) for variable in profile.environment} == {
        variable.name: variable.value for variable in profile.environment
    }
    known = profile.machine(machine)
    assert known is not None
    if profile.devices:
        for amounts in ("requests", "limits"):
            assert str(node["resources"][amounts][profile.devices[0].name]) == str(known.devices)
    assert {volume["name"] for volume in profile.volumes} <= {volume["name"] for volume in spec["volumes"]}
    mounts = [(mount["name"], mount["mountPath"]) for mount in node["volumeMounts"]]
    assert {(mount["name"], mount["mountPath"]) for mount in profile.mounts} <= set(mounts)
    assert spec["nodeSelector"]["node.kubernetes.io/instance-type"] == machine
    assert profile.annotations.items() <= template["metadata"].get("annotations", {}).items()
    assert [one["name"] for one in spec.get("initContainers") or ()] == [one["name"] for one in profile.sidecars]
    assert list(node.get("securityContext", {}).get("capabilities", {}).get("add", ())) == list(profile.capabilities)


@pytest.mark.long
def test_jobs_of_every_profile_reach_their_pods(cluster: Cluster, namespace: str, script: str) -> None:
    for name, profile in profiles().items():
        run = ["run", script, "-n", namespace, "--name", name, "--runtime", "torch-distributed", "--nodes", "2", "--gpus", "8"]
        run += ["--fabric", name, "--instance", MACHINES[name]]
        started = cluster.shunter(*run, "--detach")
        if cluster.kind == "embedded" and profile.devices:
            # Its one machine lacks the device: pods would start without it. The job itself may be applied all the same.
            assert (started.returncode, f"this machine has no {profile.devices[0].name}" in started.stderr) == (2, True)
            started = cluster.shunter(*run, "--dry-run", "-o", "yaml")
            cluster.kubectl("apply", "-f", "-", stdin=started.stdout)
        assert started.returncode == 0, started.stderr
        assert f"fabric {name}: " in started.stderr
        assert_has(pod_template(cluster, namespace, name), profile, MACHINES[name])
    for name in profiles():
        assert cluster.shunter("delete", name, "-n", namespace, "--now").returncode == 0  # torch may import, and ignore SIGTERM
    eventually(lambda: not cluster.get("trainingruntimes", "-n", namespace)["items"])


def test_runtimes_of_every_profile_are_made_and_serve_a_job(cluster: Cluster, namespace: str) -> None:
    for name, profile in profiles().items():
        create = ["runtime", "create", f"torch-{name}", "-n", namespace, "--fabric", name, "--instance", MACHINES[name]]
        printed = cluster.shunter(*create, "--dry-run", "-o", "yaml")
        assert printed.returncode == 0, printed.stderr
        cluster.kubectl("apply", "--dry-run=server", "-f", "-", stdin=printed.stdout)
        made = cluster.shunter(*create)
        assert made.returncode == 0, made.stderr
        spec = {"runtimeRef": {"name": f"torch-{name}", "kind": "TrainingRuntime"}, "trainer": {"numNodes": 2}}
        metadata = {"name": name, "namespace": namespace}
        cluster.apply({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec})
        assert_has(pod_template(cluster, namespace, name), profile, MACHINES[name])
    again = cluster.shunter("runtime", "create", "torch-efa", "-n", namespace, "--fabric", "efa", "--instance", "p5.48xlarge")
    assert (again.returncode, f"TrainingRuntime {namespace}/torch-efa exists" in again.stderr) == (2, True), again.stderr


def test_a_runtime_with_restarts_trains_and_the_network_that_nccl_names_is_described(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    lines = ["", "h:1:1 [0] NCCL INFO Using network Socket", *(f"step {step} loss 1.0" for step in range(1000))]
    script = str(tmp_path / "train.py")
    Path(script).write_text(f"print(*{lines!r}, sep='\\n')\n")
    create = ["runtime", "create", "patient", "-n", namespace, "--from", "jax-distributed", "--restarts", "2"]
    assert cluster.shunter(*create).returncode == 0
    done = cluster.shunter("run", script, "-n", namespace, "--runtime", "patient", "--snapshot", "-e", "NCCL_NET=AWS Libfabric")
    assert done.returncode == 0, done.stderr
    described = cluster.shunter("describe", "train", "-n", namespace).stdout
    assert "  Network  Socket (NCCL, from the log)\n  Warning  trains over TCP: NCCL chose Socket and not AWS" in described
    assert cluster.get("jobset", "train", "-n", namespace)["spec"]["failurePolicy"]["maxRestarts"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fabric", "efa"], "--fabric efa: no node has vpc.amazonaws.com/efa."),
        (["--fabric", "efa", "--instance", "p5.48"], "Did you mean p5.48xlarge?"),
        (["--fabric", "eva"], "--fabric eva: unknown profile.\n       Did you mean efa?"),
        (["--instance", "p5.48xlarge"], "--instance p5.48xlarge needs --fabric."),
        (["--restarts", "-1"], "--restarts is -1; it must be at least 0"),
        (["--restarts", "many"], "'many' is not a whole number"),
    ],
)
def test_what_is_not_known_creates_nothing(cluster: Cluster, namespace: str, script: str, words: list[str], message: str) -> None:
    done = cluster.shunter("run", script, "-n", namespace, *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert not cluster.get("trainjobs", "-n", namespace)["items"]


def test_what_the_user_sets_is_said(cluster: Cluster, namespace: str, script: str) -> None:
    run = ["run", script, "-n", namespace, "--fabric", "efa", "--instance", "p5.48xlarge", "-e", "NCCL_NET=Socket", "--dry-run"]
    printed = cluster.shunter(*run)
    assert printed.returncode == 0, printed.stderr
    assert (
        "fabric efa: 32 vpc.amazonaws.com/efa a node (table, not checked)\nwarning: NCCL_NET=Socket overrides" in printed.stderr
    )


def test_the_runtimes_of_the_components_are_accepted(cluster: Cluster) -> None:
    for file in sorted((ROOT / "deploy/fabrics").glob("*/runtimes.yaml")):
        cluster.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", str(file))


def test_network_settings_of_manifests_are_warned_about(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    variables = [{"name": "NCCL_TIMEOUT", "value": "1800"}, {"name": "NCCL_DEBUG", "value": "WARN"}]
    spec = {"runtimeRef": {"name": "jax-distributed"}, "trainer": {"numNodes": 1, "command": ["true"], "env": variables}}
    metadata = {"name": "job", "namespace": namespace}
    job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}
    (tmp_path / "job.yaml").write_text(yaml.dump(job))
    done = cluster.shunter("run", str(tmp_path / "job.yaml"))
    assert done.returncode == 0, done.stderr
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert said.startswith(
        f"warning: {tmp_path}/job.yaml:1: TrainJob {namespace}/job: NCCL_TIMEOUT=1800: Neither NCCL (2.30.7) nor torch"
    )
