"""MPI: nodes, slots, hosts, keys, and what admission refuses."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key, load_ssh_public_key

from shunter.api.batch import MOST_PODS
from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.model import BuildError
from shunter.operator.trainer.plugins import ssh_keys
from shunter.operator.trainer.plugins.mpi import keys_secret
from shunter.operator.trainer.plugins.ssh_keys import key_pair
from shunter.operator.trainer.render import rendered, trainjob_errors

Make = Callable[..., Any]
POLICY: Json = {"mpi": {"runLauncherAsNode": True}}
GPUS = {"containers": [{"name": "node", "image": "img", "resources": {"limits": {"nvidia.com/gpu": 4}}}]}


def hosts(job: TrainJob, runtime: Json) -> list[str]:
    (host_file,) = [one for one in rendered(job, runtime).objects if one["metadata"]["name"] == "mnist-mpi-hostfile"]
    text: str = host_file["data"]["hostfile"]
    return text.splitlines()


def pods(job: TrainJob, runtime: Json) -> dict[str, Json]:
    made = rendered(job, runtime).jobset["spec"]["replicatedJobs"]
    return {one["name"]: one["template"]["spec"] for one in made}


def container(pods: Json) -> Json:
    return next(one for one in pods["template"]["spec"]["containers"] if one["name"] == "node")


@pytest.mark.parametrize(
    ("policy", "trainer", "nodes", "launchers"),
    [
        pytest.param(POLICY, {"numNodes": 3}, 2, 1, id="the launcher is one of three"),
        pytest.param(POLICY, {"numNodes": 1}, 1, 1, id="one still gives a launcher and a node"),
        pytest.param(POLICY, {"numNodes": 0}, 1, 1, id="none as well"),
        pytest.param(POLICY, None, 1, 1, id="no number"),
        pytest.param({"mpi": {}}, {"numNodes": 3}, 3, 1, id="the launcher only launches"),
        pytest.param({"mpi": {}, "numNodes": 2}, {"numNodes": 3}, 3, 2, id="the runtime's number counts launchers"),
    ],
)
def test_nodes_and_launchers(
    make_trainjob: Make, runtime_of: Make, policy: Json, trainer: Json, nodes: int, launchers: int
) -> None:
    found = pods(make_trainjob(trainer=trainer), runtime_of(policy, trainer="launcher", node={}, launcher={}))
    assert (found["node"]["parallelism"], found["launcher"]["parallelism"]) == (nodes, launchers)
    assert found["node"]["completions"] == nodes


@pytest.mark.parametrize(
    ("policy", "trainer", "node", "slots"),
    [
        pytest.param({"mpi": {}}, {}, {}, 1, id="one by default"),
        pytest.param({"mpi": {"numProcPerNode": 5}}, {}, GPUS, 5, id="the runtime's number"),
        pytest.param({"mpi": {"numProcPerNode": 1}}, {}, GPUS, 4, id="one a GPU where the runtime says one"),
        pytest.param({"mpi": {"numProcPerNode": 5}}, {"numProcPerNode": 1}, GPUS, 1, id="the job's number"),
        pytest.param({"mpi": {}}, {"resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}}}, GPUS, 8, id="the job's GPUs"),
        pytest.param({"mpi": {}}, {"resourcesPerNode": {"limits": {"cpu": "8"}}}, GPUS, 1, id="a job without GPUs"),
    ],
)
def test_slots_of_a_node(make_trainjob: Make, runtime_of: Make, policy: Json, trainer: Json, node: Json, slots: int) -> None:
    job, runtime = make_trainjob(trainer=trainer), runtime_of(policy, trainer="launcher", node=node, launcher={})
    assert hosts(job, runtime) == [f"mnist-node-0-0.mnist slots={slots}"]
    environment = {one["name"]: one["value"] for one in container(pods(job, runtime)["launcher"])["env"]}
    assert environment["OMPI_MCA_orte_set_default_slots"] == str(slots)


def test_hosts_are_all_pods_that_train_in_the_order_of_the_runtime(make_trainjob: Make, runtime_of: Make) -> None:
    runtime = runtime_of(POLICY, trainer="launcher", launcher={}, node={}, other={})
    template = runtime["spec"]["template"]["spec"]
    template["network"] = {"subdomain": "net"}
    template["replicatedJobs"][1]["replicas"] = 2
    assert hosts(make_trainjob(trainer={"numNodes": 2}), runtime) == [
        "mnist-launcher-0-0.net slots=1",
        "mnist-node-0-0.net slots=1",
        "mnist-node-1-0.net slots=1",
    ]


def test_only_the_launcher_knows_the_hosts_and_the_job_s_environment_comes_last(make_trainjob: Make, runtime_of: Make) -> None:
    job = make_trainjob(trainer={"numNodes": 2, "image": "img:job", "env": [{"name": "A", "value": "1"}]})
    found = pods(
        job,
        runtime_of({"mpi": {"runLauncherAsNode": True, "sshAuthMountPath": "/keys"}}, trainer="launcher", node={}, launcher={}),
    )
    launcher, node = container(found["launcher"]), container(found["node"])
    assert [one["name"] for one in launcher["env"]] == [
        "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames",
        "OMPI_MCA_orte_set_default_slots",
        "OMPI_MCA_plm_rsh_args",
        "A",
    ]
    assert [mount["mountPath"] for mount in launcher["volumeMounts"]] == ["/keys", "/etc/mpi"]
    assert [mount["mountPath"] for mount in node["volumeMounts"]] == ["/keys"]
    assert node["env"] == [{"name": "A", "value": "1"}], "the environment reaches nodes, the image does not"
    assert (node["image"], launcher["image"]) == ("img:node", "img:job")


def test_nodes_get_no_environment_where_the_launcher_only_launches(make_trainjob: Make, runtime_of: Make) -> None:
    job = make_trainjob(trainer={"env": [{"name": "A", "value": "1"}], "resourcesPerNode": {"limits": {"cpu": 1}}})
    found = pods(job, runtime_of({"mpi": {}}, trainer="launcher", node={}, launcher={}))
    assert container(found["node"]).keys() == {"name", "image", "volumeMounts"}


def test_the_keys_are_a_pair_that_ssh_reads_and_depend_on_the_random_bytes_alone(make_trainjob: Make) -> None:
    secret = keys_secret(make_trainjob(), b"a" * 32)
    private, public = (base64.b64decode(secret["data"][name]) for name in ("ssh-privatekey", "ssh-publickey"))
    assert private.startswith(b"-----BEGIN EC PRIVATE KEY-----")
    assert re.fullmatch(rb"ecdsa-sha2-nistp521 \S+\n", public)
    pair = load_pem_private_key(private, None)
    assert isinstance(pair, ec.EllipticCurvePrivateKey)
    assert isinstance(pair.curve, ec.SECP521R1)
    form = Encoding.OpenSSH, PublicFormat.OpenSSH
    assert pair.public_key().public_bytes(*form) == load_ssh_public_key(public).public_bytes(*form)
    assert (secret["type"], secret["immutable"]) == ("kubernetes.io/ssh-auth", True)
    assert key_pair(b"a" * 32) == (private, public)
    assert key_pair(b"b" * 32) != (private, public)


def test_keys_are_drawn_from_the_whole_curve() -> None:
    """The order is that of SEC 2: no key has it as its number, and the one before is that of the base point turned around."""
    order = ssh_keys._P521_ORDER
    last = ec.derive_private_key(order - 1, ec.SECP521R1()).public_key().public_numbers()
    first = ec.derive_private_key(1, ec.SECP521R1()).public_key().public_numbers()
    assert last.x == first.x
    assert last.y != first.y


@pytest.mark.parametrize("implementation", ["", "Intel", "MPICH"])
def test_another_implementation_is_named_with_what_to_do(make_trainjob: Make, runtime_of: Make, implementation: str) -> None:
    with pytest.raises(BuildError, match="doesn't supported") as caught:
        rendered(make_trainjob(), runtime_of({"mpi": {"mpiImplementation": implementation}}))
    assert caught.value.remedy == "Set spec.mlPolicy.mpi.mpiImplementation of the runtime to OpenMPI."


@pytest.mark.parametrize("name", ["hostfile", "keys_fqdn", "slots", "rsh"])
def test_what_the_plugin_sets_is_reserved(make_trainjob: Make, runtime_of: Make, refusals: Make, name: str) -> None:
    reserved = {
        "hostfile": "OMPI_MCA_orte_default_hostfile",
        "keys_fqdn": "OMPI_MCA_orte_keep_fqdn_hostnames",
        "slots": "OMPI_MCA_orte_set_default_slots",
        "rsh": "OMPI_MCA_plm_rsh_args",
    }[name]
    job = make_trainjob(trainer={"env": [{"name": reserved, "value": "1"}, {"name": "OK"}]})
    (refusal,) = refusals(job, runtime_of({"mpi": {}}))
    assert refusal == (
        f'spec.trainer.env: Invalid value: [{{"name":"{reserved}","value":"1"}},{{"name":"OK"}}]: '
        f"must not have reserved envs, invalid envs configured: [{reserved}]"
    )


@pytest.mark.parametrize(
    ("policy", "jobs", "nodes", "is_refused"),
    [
        (POLICY, ("node", "launcher"), 2, False),
        (POLICY, ("node",), 2, True),
        (POLICY, ("launcher",), 2, True),
        (POLICY, ("node",), 1, False),
        ({"mpi": {}}, ("node",), 2, False),
    ],
    ids=["both", "no launcher", "no node", "one node", "the launcher only launches"],
)
def test_two_nodes_need_a_launcher_and_a_node(
    make_trainjob: Make, runtime_of: Make, refusals: Make, policy: Json, jobs: tuple[str, ...], nodes: int, is_refused: bool
) -> None:
    runtime = runtime_of(policy, trainer=jobs[-1], **{name: {} for name in jobs})
    wanted = (
        "spec.trainer.numNodes: Invalid value: 2: must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does not "
        "have either launcher and node"
    )
    assert refusals(make_trainjob(trainer={"numNodes": nodes}), runtime) == ([wanted] if is_refused else [])


@pytest.mark.parametrize(
    ("policy", "trainer"),
    [
        pytest.param(POLICY, {"numNodes": 2**31 - 1}, id="by the job"),
        pytest.param({**POLICY, "numNodes": 2**31 - 1}, None, id="by the runtime"),
    ],
)
def test_more_pods_than_anybody_has_are_refused_before_their_names_are_written_down(
    make_trainjob: Make, runtime_of: Make, policy: Json, trainer: Json | None
) -> None:
    with pytest.raises(BuildError, match=f"there must not be more than {MOST_PODS}") as caught:
        rendered(make_trainjob(trainer=trainer), runtime_of(policy, trainer="node", node={}, launcher={}))
    assert "numNodes" in caught.value.remedy


def test_admission_names_the_number_of_nodes_that_nobody_has(make_trainjob: Make, runtime_of: Make) -> None:
    runtime = runtime_of(POLICY, trainer="node", node={}, launcher={})
    (fault,) = trainjob_errors(make_trainjob(trainer={"numNodes": MOST_PODS + 1}), runtime)
    assert str(fault) == f"spec.trainer.numNodes: Invalid value: {MOST_PODS + 1}: must not be more than {MOST_PODS}"
    assert not trainjob_errors(make_trainjob(trainer={"numNodes": MOST_PODS}), runtime)
