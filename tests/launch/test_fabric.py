"""How many devices a pod requests, on which machine, and when that is unknown; and the objects of it."""

from __future__ import annotations

import inspect
from pathlib import Path

import msgspec
import pytest
import yaml

import shunter.operator.trainer.runtimes as shipped
from shunter.api.meta import Json
from shunter.api.trainer.runtime import TrainingRuntime
from shunter.api.trainer.runtime_validation import errors
from shunter.cli import runtime
from shunter.cli.options import program_options
from shunter.errors import InputError
from shunter.fabrics import profiles
from shunter.launch.code.delivery import ImageCode
from shunter.launch.fabric import Fabric, fabric_of, notes, require_profile
from shunter.launch.fabric_objects import FABRIC_MANAGER, runtime_with_fabric, with_fabric
from shunter.launch.objects import launch, rerun_job
from shunter.launch.options import ClaimVolume, LaunchOptions, Program
from shunter.launch.runtimes.choice import of_object
from shunter.launch.runtimes.copies import copied_runtime

EFA = "vpc.amazonaws.com/efa"
GOLDENS = Path(__file__).parent / "fabrics"


def node(name: str, type: str = "", **allocatable: int) -> Json:
    amounts = {
        {"efa": EFA, "gpu": "nvidia.com/gpu", "ib": "rdma/ib", "shared": "rdma/shared_ib"}[key]: str(value)
        for key, value in allocatable.items()
    }
    labels = {"node.kubernetes.io/instance-type": type} if type else {}
    return {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": {"cpu": "8", **amounts}}}


P5 = node("a", "p5.48xlarge", efa=32, gpu=8)
KNOWN: dict[str, tuple[str, list[Json] | None, str, tuple[str, int, str]]] = {
    "nodes say it": ("efa", [P5, node("b")], "", (EFA, 32, "")),
    "nodes of the named type say it, not the table": (
        "efa",
        [node("a", "p5.48xlarge", efa=31), node("b", "p4d.24xlarge", efa=4)],
        "p5.48xlarge",
        (EFA, 31, "p5.48xlarge"),
    ),
    "what all nodes of a type have": ("efa", [P5, node("b", "p5.48xlarge", efa=31)], "", (EFA, 31, "")),
    "machines of two types with as many": ("efa", [P5, node("b", "p5e.48xlarge", efa=32)], "", (EFA, 32, "")),
    "nodes of a type that no table knows": ("efa", [node("a", "p9.48xlarge", efa=64)], "p9.48xlarge", (EFA, 64, "p9.48xlarge")),
    "the table, where no such node is": ("efa", [node("b", "p4d.24xlarge", efa=4)], "p5en.48xlarge", (EFA, 16, "p5en.48xlarge")),
    "the table, where nodes may not be looked at": ("efa", None, "p4d.24xlarge", (EFA, 4, "p4d.24xlarge")),
    "adapters of one's own": ("ib", [node("a", ib=8)], "", ("rdma/ib", 8, "")),
    "adapters that pods share": ("ib", [node("a", shared=63)], "", ("rdma/shared_ib", 1, "")),
    "a machine that is seen": ("gib", [node("a", "a4-highgpu-8g", gpu=8), node("b", "e2")], "", ("", 0, "a4-highgpu-8g")),
    "a machine that is named": ("tcpxo", [], "a3-megagpu-8g", ("", 0, "a3-megagpu-8g")),
}


@pytest.mark.parametrize(("name", "nodes", "instance", "found"), KNOWN.values(), ids=KNOWN)
def test_what_a_node_of_the_job_asks_for(name: str, nodes: list[Json] | None, instance: str, found: tuple[str, int, str]) -> None:
    fabric = fabric_of(profiles()[name], nodes, instance)
    assert (fabric.device, fabric.count, fabric.instance) == found


UNKNOWN: dict[str, tuple[str, list[Json] | None, str, str]] = {
    "no node has it": ("efa", [node("b")], "", "no node has vpc.amazonaws.com/efa"),
    "nodes may not be looked at": ("efa", None, "", "no permission to list nodes"),
    "machines that differ": (
        "efa",
        [P5, node("b", "p4d.24xlarge", efa=4)],
        "",
        r"different numbers of vpc.amazonaws.com/efa: 4 \(p4d.24xlarge\), 32 \(p5.48xlarge\)",
    ),
    "a machine that nobody knows": ("efa", [P5], "p7.48xlarge", "--instance p7.48xlarge: its number of efa devices is unknown"),
    "a machine without it": ("efa", [], "g5.4xlarge", "g5.4xlarge has none"),
    "a machine whose device plugin is missing": (
        "efa",
        [node("a", "p5.48xlarge", gpu=8)],
        "p5.48xlarge",
        "node a is a p5.48xlarge and offers no vpc.amazonaws.com/efa",
    ),
    "no machine for gIB": ("gib", [P5], "", r"no node has gIB"),
    "two machines for gIB": (
        "gib",
        [node("a", "a3-ultragpu-8g"), node("b", "a4-highgpu-8g")],
        "",
        "machines of several types that have it: a3-ultragpu-8g, a4-highgpu-8g",
    ),
    "a machine that does not use NCCL": ("efa", [], "trn1.32xlarge", "trn1.32xlarge: Trainium has EFA but does not use NCCL"),
    "a machine of another cloud": ("gib", [P5], "p5.48xlarge", "its number of gib devices is unknown"),
}


@pytest.mark.parametrize(("name", "nodes", "instance", "message"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_known_is_not_guessed(name: str, nodes: list[Json] | None, instance: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        fabric_of(profiles()[name], nodes, instance)
    assert refused.value.remedy


def test_a_machine_that_is_misspelt_is_only_taken_for_one_that_has_the_network() -> None:
    for instance, remedy in (
        ("p5.48xlarg", "Did you mean p5.48xlarge?"),
        ("p5.48", "Did you mean p5.48xlarge?"),
        ("c5.large", "Start such a node, or use one of p4d"),
    ):
        with pytest.raises(InputError, match="is unknown") as refused:
            fabric_of(profiles()["efa"], [], instance)
        assert refused.value.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("name", "instance", "message"),
    [("eva", "", "--fabric eva: unknown profile"), ("", "p5.48xlarge", "needs --fabric"), ("none", "x", "needs --fabric")],
)
def test_names_that_cannot_be_meant(name: str, instance: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        require_profile(name, instance)
    assert require_profile("none") is None


def test_the_help_names_every_profile() -> None:
    for text in (inspect.getsource(program_options), inspect.getsource(runtime)):
        (line,) = [line for line in text.splitlines() if "Fast network: " in line]
        assert all(name in line for name in profiles())


def test_a_profile_stops_nccl_where_its_network_is_missing() -> None:
    for profile in profiles().values():
        values = {variable.name: variable.value for variable in profile.environment}
        assert values["NCCL_NET"] == profile.network
        for machine in profile.instances:
            names = [variable.name for variable in (*profile.environment, *machine.environment)]
            assert len(names) == len(set(names)), machine.type
        assert {mount["name"] for mount in profile.mounts} <= {volume["name"] for volume in profile.volumes}


def test_what_the_user_sets_wins_aloud() -> None:
    fabric = fabric_of(profiles()["efa"], [P5])
    given = [{"name": "NCCL_NET", "value": "Socket"}, {"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "A", "value": "1"}]
    (said,) = notes(fabric, given, 8)
    assert said.startswith("NCCL_NET=Socket overrides 'AWS Libfabric', which --fabric efa sets for this reason: NCCL stops")
    (costly,) = notes(fabric, [], 2)
    assert costly == f"each node of the job takes 32 {EFA} for 2 of 8 GPUs, so no other such job fits on its machine"
    job = with_fabric({"metadata": {}, "spec": {"trainer": {"env": given}}}, fabric)
    values = [variable["value"] for variable in job["spec"]["trainer"]["env"] if variable["name"] == "NCCL_NET"]
    assert values == ["Socket"]


def base(name: str = "shunter-torch") -> Json:
    found: Json = yaml.safe_load((Path(shipped.__file__).parent / f"{name}.yaml").read_text())
    return found


CHOSEN: dict[str, Fabric] = {
    "efa": fabric_of(profiles()["efa"], [P5]),
    "efa on a named machine": fabric_of(profiles()["efa"], [], "p5en.48xlarge"),
    "gib": fabric_of(profiles()["gib"], [node("a", "a3-ultragpu-8g")]),
    "tcpxo": fabric_of(profiles()["tcpxo"], [], "a3-megagpu-8g"),
    "ib": fabric_of(profiles()["ib"], [node("a", ib=8)]),
}


def job_objects(fabric: Fabric) -> list[Json]:
    options = LaunchOptions(
        program=Program(path="train.py"), nodes=2, gpus=8, memory="64Gi", fabric=fabric, volumes=(ClaimVolume("data", "/data"),)
    )
    return launch(options, ImageCode(), of_object(base()), name="train", namespace="team")


@pytest.mark.parametrize("case", CHOSEN)
def test_a_program_becomes_these_objects(case: str) -> None:
    golden = GOLDENS / f"job-{case.replace(' ', '-')}.yaml"
    assert job_objects(CHOSEN[case]) == list(yaml.safe_load_all(golden.read_text()))


@pytest.mark.parametrize("case", CHOSEN)
def test_a_runtime_becomes_this_one(case: str) -> None:
    golden = GOLDENS / f"runtime-{case.replace(' ', '-')}.yaml"
    made = runtime_with_fabric(copied_runtime(base(), name="fast", namespace="team"), CHOSEN[case])
    assert made == yaml.safe_load(golden.read_text())
    assert not errors(msgspec.convert(made, TrainingRuntime))
    assert runtime_with_fabric(made, CHOSEN[case]) == made, "once is enough"


def test_a_job_runs_again_over_the_same_network() -> None:
    (job,) = job_objects(CHOSEN["efa"])
    again = rerun_job(job, "train-2", job_id="2")
    assert [patch["manager"] for patch in again["spec"]["runtimePatches"]] == ["shunter.dev/run", FABRIC_MANAGER]
    assert again["metadata"]["annotations"]["shunter.dev/fabric"] == "efa"
    assert with_fabric(job, CHOSEN["efa"])["spec"] == job["spec"], "once is enough"
