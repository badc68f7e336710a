"""PyTorchJobs: whatever starts the processes, a conversion that may be used trains one model where v1 trained one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migrate_scenarios import CASES, cases, options_of
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.one_job import Conversion, convert
from shunter.migrate.conversion.reading import UnreadableJobError
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.options import Options, TorchLaunch
from shunter.migrate.proof.proving import proof_of

REPOSITORY = Path(__file__).parents[4]
PLAIN = ["python", "train.py"]
TORCHRUN = ["torchrun", "train.py"]


def job(masters: int, workers: int, command: list[str] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "example.org/train:1", **({"command": command} if command else {})}
    role = {"restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    counts = {"Master": masters, "Worker": workers}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bert", "namespace": "team"},
        "spec": {"pytorchReplicaSpecs": {name: {"replicas": count, **role} for name, count in counts.items() if count}, **spec},
    }


def converted(source: dict[str, Any], options: Options = Options()) -> Conversion:  # noqa: B008
    return convert(SourceObject(source, "job.yaml"), options)


def topics(conversion: Conversion) -> set[str]:
    return {finding.topic.id for finding in conversion.findings}


def variables(conversion: Conversion) -> dict[str, Any]:
    """Of the training container, as the runtime says them."""
    assert conversion.runtime is not None
    template = conversion.runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return {variable["name"]: variable.get("value") for variable in template["spec"]["containers"][0]["env"]}


@pytest.mark.parametrize("case", cases(CASES / "pytorch"), ids=lambda case: case.stem)
def test_what_may_be_used_has_the_pods_of_v1(case: Path) -> None:
    given = Input((text_file(case.read_text(), case.name),))
    options = options_of(case)
    for outcome in batch.converted(given.convertible, options, [source.value for source in given.others]).outcomes:
        assert outcome.conversion is not None
        was_accepted = any(finding.suppressed for finding in outcome.findings)
        if not outcome.is_blocked and not was_accepted:
            assert [finding.message for finding in proof_of(outcome.conversion, options).findings if finding.is_blocking] == []


@pytest.mark.parametrize("path", sorted((REPOSITORY / "examples" / "v1").glob("pytorch*.yaml")), ids=lambda path: path.stem)
def test_examples_are_converted_but_for_a_number_of_nodes_to_choose(path: Path) -> None:
    given = Input((text_file(path.read_text(), path.name),))
    found = batch.converted(given.convertible, Options(), [source.value for source in given.others])
    blocking = {finding.topic.id for finding in found.findings if finding.is_blocking}
    assert blocking == ({"ELASTIC001"} if path.stem == "pytorch-elastic" else set())


MODES: tuple[TorchLaunch, ...] = ("auto", "env-compat", "torchrun", "as-is")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("masters", [1, 0], ids=["master and workers", "workers"])
def test_only_as_is_and_undecided_workers_are_blocked(mode: TorchLaunch, masters: int) -> None:
    found = converted(job(masters, 3, PLAIN), Options(torch_launch=mode))
    expected = {(1, "as-is"): "TORCH001", (0, "as-is"): "TORCH002", (0, "auto"): "TORCH002"}.get((masters, mode))
    assert {finding.topic.id for finding in found.findings if finding.is_blocking} == ({expected} if expected else set())


def test_plugin_variables_stand_before_what_is_made_of_them() -> None:
    names = [*variables(converted(job(1, 1, PLAIN)))]
    assert names[:4] == ["PET_NNODES", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"]
    assert names[4:] == ["PYTHONUNBUFFERED", "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"]


def test_world_size_is_what_v1_said() -> None:
    assert variables(converted(job(1, 3, PLAIN)))["WORLD_SIZE"] == "$(PET_NNODES)"
    assert variables(converted(job(1, 3, PLAIN, nprocPerNode="2")))["WORLD_SIZE"] == "8"


def test_runtimes_do_not_depend_on_names_and_sizes() -> None:
    small, large = job(1, 1, PLAIN), job(1, 7, PLAIN)
    large["metadata"] = {"generateName": "other-", "namespace": "team"}
    assert converted(small).runtime == converted(large).runtime


WITH_DEFAULTS = [
    "bash",
    "-c",
    "NODES=${WORLD_SIZE:-1}; torchrun --nnodes=$NODES --node_rank=${RANK:-0} --master_addr=${MASTER_ADDR:-localhost} train.py",
]


def test_defaults_of_variables_that_v1_tells_are_not_what_torchrun_is_told() -> None:
    found = converted(job(1, 3, WITH_DEFAULTS))
    assert (found.is_blocked, "TORCH002" in topics(found)) == (False, False)
    assert variables(found)["WORLD_SIZE"] == "$(PET_NNODES)"


def test_variable_of_the_source_that_v1_overrode_is_not_what_torchrun_is_told() -> None:
    source = job(1, 3, ["torchrun", "--nnodes=$(WORLD_SIZE)", "train.py"])
    for role in source["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"]["containers"][0]["env"] = [{"name": "WORLD_SIZE", "value": "1"}]
    assert "TORCH002" not in topics(converted(source))


def test_workers_that_train_alone_by_defaults_go_on_so_unless_one_model_is_asked_for() -> None:
    alone = converted(job(0, 3, WITH_DEFAULTS))
    assert topics(alone) & {"TORCH002", "TORCH004"} == {"TORCH002"}
    assert "WORLD_SIZE" not in variables(alone)
    together = converted(job(0, 3, WITH_DEFAULTS), Options(torch_launch="env-compat"))
    assert not together.is_blocked
    assert variables(together)["WORLD_SIZE"] == "$(PET_NNODES)"


@pytest.mark.parametrize(("script", "is_told"), [("train.py", True), ("prepare.py", False)])
def test_program_that_is_started_without_torchrun_as_well_is_told_what_v1_told(script: str, is_told: bool) -> None:
    text = f"if [ $GPUS = 1 ]; then python {script}; else torchrun train.py; fi"
    assert ("MASTER_ADDR" in variables(converted(job(1, 1, ["bash", "-c", text])))) == is_told


def test_torchrun_is_not_put_in_front_of_what_only_prepares() -> None:
    source = job(1, 1, ["bash", "-c", "python download.py && bash train.sh"])
    found = converted(source, Options(torch_launch="torchrun"))
    assert found.train_job["spec"]["trainer"]["command"][2] == "python download.py && bash train.sh"
    assert variables(found)["WORLD_SIZE"] == "$(PET_NNODES)"


def test_what_is_not_known_is_told_what_v1_told_beside_what_torchrun_starts() -> None:
    source = job(1, 1, ["bash", "-c", "bash prepare.sh && python train.py"])
    found = converted(source, Options(torch_launch="torchrun"))
    assert found.train_job["spec"]["trainer"]["command"][2] == "bash prepare.sh && torchrun train.py"
    assert variables(found)["WORLD_SIZE"] == "$(PET_NNODES)"


@pytest.mark.parametrize("count", [100, 126])
def test_train_job_never_has_more_variables_than_it_may(count: int) -> None:
    source = job(1, 1, PLAIN)
    for role in source["spec"]["pytorchReplicaSpecs"].values():
        variables = [{"name": f"V{number}", "value": "x"} for number in range(count)]
        role["template"]["spec"]["containers"][0]["env"] = variables
    found = converted(source, Options(profile="idiomatic"))
    assert len(found.train_job["spec"]["trainer"]["env"]) <= 128
    assert (found.profile == "P1") == (count == 100)


ELASTIC = {"minReplicas": 2, "maxReplicas": 4}
CHOICES = {"": 3, "replicas": 3, "min": 2, "max": 4, "7": 7, "1": 1}


@pytest.mark.parametrize(("choice", "nodes"), CHOICES.items(), ids=lambda value: str(value or "nothing"))
def test_elastic_job_has_the_chosen_nodes_and_still_tolerates_losses(choice: str, nodes: int) -> None:
    found = converted(job(0, 3, TORCHRUN, elasticPolicy=ELASTIC), Options(elastic_nodes=choice))
    trainer = found.train_job["spec"]["trainer"]
    assert trainer.get("numNodes", 1) == nodes
    assert [word for word in trainer["command"] if word.startswith("--nnodes")] == ([f"--nnodes=2:{nodes}"] if nodes > 2 else [])
    assert found.is_blocked == (choice == "")


def test_elastic_job_that_reads_the_range_from_its_variable_finds_it_there() -> None:
    command = ["bash", "-c", "torchrun --nnodes=$PET_NNODES --rdzv_endpoint=$PET_RDZV_ENDPOINT train.py"]
    found = converted(job(0, 3, command, elasticPolicy=ELASTIC), Options(elastic_nodes="max"))
    assert found.train_job["spec"]["trainer"]["command"] == command
    assert (found.profile, variables(found)["PET_NNODES"]) == ("P3", "2:4")


@pytest.mark.parametrize(
    ("bounds", "choice", "path"),
    [
        ({"minReplicas": 2_147_483_647, "maxReplicas": 2}, "", "spec.elasticPolicy.minReplicas"),
        ({"minReplicas": 1, "maxReplicas": 1_000_000}, "max", "spec.elasticPolicy.maxReplicas"),
        ({"minReplicas": 1, "maxReplicas": 4}, "2000000000", "spec.elasticPolicy"),
    ],
    ids=["lower", "upper", "asked"],
)
def test_more_nodes_than_a_job_may_have_are_refused_at_once(bounds: dict[str, int], choice: str, path: str) -> None:
    with pytest.raises(UnreadableJobError, match=f"{path}: [0-9]+ nodes are more than a Job may have"):
        converted(job(0, 3, TORCHRUN, elasticPolicy=bounds), Options(elastic_nodes=choice))


def test_an_upper_bound_that_nobody_asks_for_may_be_any_number() -> None:
    found = converted(job(0, 3, TORCHRUN, elasticPolicy={"minReplicas": 1, "maxReplicas": 1_000_000}))
    assert found.train_job["spec"]["trainer"]["numNodes"] == 3


def test_roles_that_differ_are_told_apart_field_by_field() -> None:
    source = job(1, 2, PLAIN)
    source["spec"]["pytorchReplicaSpecs"]["Worker"] = {
        "replicas": 2,
        "restartPolicy": "Never",
        "template": {"spec": {"containers": [{"name": "pytorch", "image": "example.org/other:1", "command": PLAIN}]}},
    }
    found = converted(source)
    told = [finding.message for finding in found.findings if finding.topic.id == "TORCH014"]
    assert told == ["Worker differs from Master in spec.containers[0].image.", "Worker differs from Master in restartPolicy."]
    assert proof_of(found).holds


COMMANDS = st.sampled_from([
    None,
    PLAIN,
    TORCHRUN,
    ["torchrun", "--nproc_per_node=2", "train.py"],
    ["sh", "-c", "exec torchrun --nnodes=$WORLD_SIZE --node_rank=$RANK --master_addr=$MASTER_ADDR train.py"],
    ["bash", "-c", "pip install x; python -u train.py --rank $RANK"],
    ["python", "-m", "bert", "--rank=$(RANK)"],
    ["accelerate", "launch", "train.py"],
    ["torchrun", "--rdzv_backend=c10d", "--rdzv_endpoint=bert-worker-0:29400", "train.py"],
    ["python", "train.py", "--dist-url=tcp://bert-master-0:23456"],
])  # fmt: skip
POLICIES = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "minReplicas": st.integers(1, 3),
        "maxReplicas": st.integers(3, 5),
        "rdzvPort": st.just(29400),
        "rdzvId": st.just("x"),
    },
)


@settings(max_examples=80)
@given(
    masters=st.integers(0, 1),
    workers=st.integers(1, 3),
    command=COMMANDS,
    policy=POLICIES,
    nproc=st.sampled_from([None, "auto", "2", "gpu"]),
    mode=st.sampled_from(MODES),
    profile=st.sampled_from(["auto", "idiomatic", "plain"]),
    choice=st.sampled_from(["replicas", "min", "max"]),
)
def test_what_is_not_blocked_is_proved(
    masters: int,
    workers: int,
    command: list[str] | None,
    policy: Any,
    nproc: str | None,
    mode: TorchLaunch,
    profile: Any,
    choice: str,
) -> None:
    spec = {name: value for name, value in {"elasticPolicy": policy, "nprocPerNode": nproc}.items() if value is not None}
    options = Options(torch_launch=mode, profile=profile, elastic_nodes=choice)
    found = converted(job(masters, workers, command, **spec), options)
    if not found.is_blocked:
        assert [finding.message for finding in proof_of(found, options).findings if finding.is_blocking] == []
