"""What the comparison of both sides' pods notices, what it expects, and what findings explain."""

from __future__ import annotations

import pytest

from migrate.proof.jobs import Change, changed, converted, environment, job_spec, pod_spec, pytorch
from shunter.api.meta import Json
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding, Place, Topic
from shunter.migrate.options import Options
from shunter.migrate.pods.differences import matched
from shunter.migrate.pods.facts import is_own
from shunter.migrate.pods.sides import v1_side, v2_side
from shunter.migrate.proof.comparison import compared, compared_objects
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.services import desired_services


def told(job: Json, change: Change) -> list[str]:
    """What is told of a conversion whose results were changed by hand."""
    return told_of(changed(converted(job), change))


def told_of(conversion: Conversion) -> list[str]:
    return [finding.message for finding in compared(conversion).findings]


def test_a_conversion_has_the_pods_of_its_source() -> None:
    comparison = compared(converted(pytorch(3)))
    assert comparison.is_alike
    assert comparison.findings == ()
    assert comparison.matched is not None
    assert [(pair.title, pair.v2 and pair.v2.host) for pair in comparison.matched.pairs] == [
        ("Master 0", "bert-node-0-0.bert"),
        ("Worker 0", "bert-node-0-1.bert"),
        ("Worker 1", "bert-node-0-2.bert"),
        ("Worker 2", "bert-node-0-3.bert"),
    ]


def _without_shim(train_job: Json, runtime: Json) -> None:
    pod_spec(runtime)["containers"][0]["env"] = []


def _shim_before_placeholders(train_job: Json, runtime: Json) -> None:
    environment(runtime).sort(key=lambda variable: variable["value"] == "")


def _one_node_less(train_job: Json, runtime: Json) -> None:
    train_job["spec"]["trainer"]["numNodes"] -= 1


def _no_trainer_section(train_job: Json, runtime: Json) -> None:
    del train_job["spec"]["trainer"]


def _other_image(train_job: Json, runtime: Json) -> None:
    train_job["spec"]["trainer"]["image"] = "train:2"


def _reads_v1_host(train_job: Json, runtime: Json) -> None:
    train_job["spec"]["trainer"]["args"] = ["--master", "bert-master-0"]


def _more_memory(train_job: Json, runtime: Json) -> None:
    train_job["spec"]["trainer"]["resourcesPerNode"] = {"limits": {"memory": "2Gi"}}


def _host_network(train_job: Json, runtime: Json) -> None:
    pod_spec(runtime)["hostNetwork"] = True


def _mounts_what_is_not_there(train_job: Json, runtime: Json) -> None:
    pod_spec(runtime)["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def _other_runtime(train_job: Json, runtime: Json) -> None:
    train_job["spec"]["runtimeRef"]["name"] = "torch-distributed"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(_without_shim, "env WORLD_SIZE of container node is '3' in v1 and nothing in v2", id="no-shim"),
        pytest.param(
            _shim_before_placeholders,
            "env RANK of container node is '0' in v1 and '$(PET_NODE_RANK)'",
            id="shim-before-placeholders",
        ),
        pytest.param(_one_node_less, "Worker 1: v2 has no such pod", id="a-node-less"),
        pytest.param(_no_trainer_section, "rank 0 of 3 at Master 0 in v1, and on its own", id="no-trainer-section"),
        pytest.param(_other_image, "image of container node is 'train:1' in v1 and 'train:2' in v2", id="image"),
        pytest.param(_reads_v1_host, "and 'python train.py --master bert-master-0' in v2", id="host-of-v1"),
        pytest.param(_more_memory, "resources limits memory of container node is nothing in v1", id="resources"),
        pytest.param(_host_network, "hostNetwork is nothing in v1 and 'True' in v2", id="host-network"),
        pytest.param(_mounts_what_is_not_there, "volume data persistentVolumeClaim claimName is nothing in v1", id="volume"),
        pytest.param(_other_runtime, "refers to the TrainingRuntime torch-distributed of its namespace, which", id="runtime"),
    ],
)
def test_what_is_changed_in_a_result_is_told(change: Change, message: str) -> None:
    messages = told(pytorch(2), change)
    assert any(message in one for one in messages), messages


@pytest.mark.parametrize("token", ["pl4nt", "pl4nted-v4lue-" * 20], ids=["short", "longer than what is shown"])
def test_no_finding_shows_a_credential(token: str) -> None:
    def other_token(train_job: Json, runtime: Json) -> None:
        train_job["spec"]["trainer"]["env"] = [{"name": "HF_TOKEN", "value": f"{token}-other"}]

    job = pytorch(2)
    for role in job["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"]["containers"][0]["env"] = [{"name": "HF_TOKEN", "value": token}]
    messages = told(job, other_token)
    assert "env HF_TOKEN of container node is '***' in v1 and '***' in v2" in " ".join(messages)
    assert not any("pl4nt" in one for one in messages)


def test_pods_of_a_role_that_differ_alike_are_told_together() -> None:
    messages = told(pytorch(4), _other_image)
    assert [one.partition(":")[0] for one in messages] == ["Master 0", "Worker 0 to 3"]


@pytest.mark.parametrize(
    "env",
    [
        pytest.param([{"name": "RANK", "value": "7"}], id="v1-s-operator-won-over-the-user"),
        pytest.param([{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "t"}}}], id="secret"),
        pytest.param(
            [
                {"name": "UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
                {"name": "OTEL_RESOURCE_ATTRIBUTES", "value": "k8s.pod.uid=$(UID)"},
            ],
            id="uid-of-the-pod",
        ),
        pytest.param(
            [{"name": "HOME", "value": "/home/$(USER)"}, {"name": "USER", "value": "me"}], id="reference-to-a-later-one"
        ),
    ],
)
def test_environments_are_compared_as_programs_see_them(env: list[Json]) -> None:
    assert compared(converted(pytorch(1, env=env))).is_alike


NAME_OF_THE_POD = {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}


@pytest.mark.parametrize(
    ("fields", "is_alike"),
    [
        pytest.param({"env": [{"name": "OTEL", "value": "k8s.pod.name=$(POD)"}]}, True, id="within-a-variable"),
        pytest.param({"args": ["--log=/logs/$(POD).txt"]}, True, id="within-a-path"),
        pytest.param({"args": ["--host", "$(POD)"]}, False, id="a-word-that-may-be-a-host"),
        pytest.param({"args": ["--store=$(POD):29500"]}, False, id="an-address"),
        pytest.param({"env": [{"name": "STORE", "value": "tcp://$(POD)/0"}]}, False, id="an-address-in-a-variable"),
    ],
)
def test_a_generated_name_blocks_where_it_may_be_an_address(fields: Json, is_alike: bool) -> None:
    job = pytorch(1, **{**fields, "env": [NAME_OF_THE_POD, *fields.get("env", [])]})
    comparison = compared(converted(job))
    assert comparison.is_alike == is_alike
    assert is_alike == ({finding.topic.id for finding in comparison.findings} == {"PROOF003"})


def test_what_v1_made_nothing_of_is_missed_though_the_user_named_it() -> None:
    """v1's operator adds its variables behind those of the user, so `$(MASTER_PORT)` stays as it stands."""
    conversion = converted(pytorch(1, env=[{"name": "INIT", "value": "tcp://$(MASTER_PORT)"}]))

    def without_port(train_job: Json, runtime: Json) -> None:
        container = pod_spec(runtime)["containers"][0]
        container["env"] = [one for one in container["env"] if one["name"] != "MASTER_PORT"]

    said = "Master 0: env MASTER_PORT of container node is '23456' in v1 and nothing in v2."
    assert said in told_of(changed(conversion, without_port))


def test_a_finding_about_one_variable_explains_no_other() -> None:
    """POD007 is told of the variable that reads the pod's name."""

    def on_cpus(train_job: Json, runtime: Json) -> None:
        train_job["spec"]["trainer"]["env"].append({"name": "CUDA_VISIBLE_DEVICES", "value": "-1"})

    assert told(pytorch(1, env=[NAME_OF_THE_POD]), on_cpus) == [
        "Master 0: env CUDA_VISIBLE_DEVICES of container node is nothing in v1 and '-1' in v2.",
        "Worker 0: env CUDA_VISIBLE_DEVICES of container node is nothing in v1 and '-1' in v2.",
    ]


def test_a_finding_about_a_container_explains_none_of_its_fields() -> None:
    """TORCH002 is told of a whole container where its image says what is started."""
    job = pytorch(1, master=False)
    del job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["command"]
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 2
    conversion = converted(job, Options(accepted=("TORCH002",)))
    assert "TORCH002" in {finding.topic.id for finding in conversion.findings}
    assert told_of(changed(conversion, _other_image)) == [
        "Worker 0 to 1: image of container node is 'train:1' in v1 and 'train:2' in v2."
    ]


def _no_deadline(train_job: Json, runtime: Json) -> None:
    train_job["spec"].pop("activeDeadlineSeconds", None)


def _a_deadline_of_the_jobs(train_job: Json, runtime: Json) -> None:
    job_spec(runtime)["activeDeadlineSeconds"] = 60


@pytest.mark.parametrize(
    ("seconds", "change", "message"),
    [
        pytest.param(3600, _no_deadline, "The job has a deadline of 3600 s in v1 and no deadline in v2.", id="lost"),
        pytest.param(
            3600, _a_deadline_of_the_jobs, "The job has a deadline of 3600 s in v1 and a deadline of 60 s in v2.", id="another"
        ),
        pytest.param(None, _a_deadline_of_the_jobs, "The job has no deadline in v1 and a deadline of 60 s in v2.", id="new"),
    ],
)
def test_another_deadline_is_another_ending(seconds: int | None, change: Change, message: str) -> None:
    policy = {} if seconds is None else {"activeDeadlineSeconds": seconds}
    assert message in told(pytorch(1, run_policy=policy), change)


@pytest.mark.parametrize("version", ["2.1", "2.3"])
def test_a_deadline_that_is_carried_ends_the_job_alike(version: str) -> None:
    job = pytorch(1, run_policy={"activeDeadlineSeconds": 3600})
    assert compared(converted(job, Options(target_version=version))).is_alike


@pytest.mark.parametrize("names", [["node"], ["node-1", "node"]], ids=["free", "taken"])
def test_containers_that_give_way_to_the_training_one_are_found_again(names: list[str]) -> None:
    job = pytorch(1)
    for role in job["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"]["initContainers"] = [{"name": name, "image": f"{name}:1"} for name in names]
    assert compared(converted(job)).is_alike


def test_pods_without_host_names_meet_nobody() -> None:
    def without_names(train_job: Json, runtime: Json) -> None:
        runtime["spec"]["template"]["spec"]["network"] = {"enableDNSHostnames": False}

    messages = told(pytorch(1), without_names)
    assert any("at bert-node-0-0.bert in v2" in message for message in messages), messages


def test_a_program_that_is_told_the_name_of_its_pod_is_told_of_without_blocking() -> None:
    env = [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    conversion = converted(pytorch(1, env=env))
    source = conversion.source
    comparison = compared_objects(source, conversion.train_job, conversion.runtime)
    assert [(finding.topic.id, finding.message) for finding in comparison.findings] == [
        ("PROOF003", "Master 0: env POD of container node is '<Master 0>' in v1 and 'bert-node-0-0-xxxxx' in v2."),
        ("PROOF003", "Worker 0: env POD of container node is '<Worker 0>' in v1 and 'bert-node-0-1-xxxxx' in v2."),
    ]
    assert comparison.is_alike


@pytest.mark.parametrize(
    ("key", "is_written"),
    [("job-name", True), ("controller-uid", True), ("batch.kubernetes.io/job-name", True), ("job-name-of-team", False)],
)
def test_a_label_of_the_users_that_begins_like_one_of_controllers_is_theirs(key: str, is_written: bool) -> None:
    assert is_own(key) is is_written


def test_selectors_that_select_the_same_pods_are_the_same() -> None:
    job = pytorch(2)
    for role in job["spec"]["pytorchReplicaSpecs"].values():
        labels = {"training.kubeflow.org/job-name": "bert"}
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        role["template"]["spec"]["affinity"] = affinity
    conversion = converted(job)
    assert compared(conversion).is_alike

    def unchanged(train_job: Json, runtime: Json) -> None:
        pod_spec(runtime)["affinity"] = affinity

    other = changed(conversion, unchanged)
    messages = [finding.message for finding in compared_objects(other.source, other.train_job, other.runtime).findings]
    assert any("podAntiAffinity" in message for message in messages)


TOPIC = Topic("TEST001", "t", "warning", "semantic-change", "D", "e", "r")


def _explained_by(topic: Topic, path: tuple[str | int, ...]) -> bool:
    source = SourceObject(pytorch(1), "bert.yaml")
    conversion = changed(converted(pytorch(1)), _other_image)
    finding = Finding(topic, source.title, Place("bert.yaml"), path, "m")
    return compared_objects(source, conversion.train_job, conversion.runtime, (finding,)).is_alike


IMAGE = ("spec", "pytorchReplicaSpecs", "Worker", "template", "spec", "containers", 0, "image")


@pytest.mark.parametrize(
    ("topic", "path", "is_explained"),
    [
        pytest.param(TOPIC, IMAGE, True, id="about-the-field-of-both-roles"),
        pytest.param(TOPIC, IMAGE[:4], False, id="about-the-whole-template"),
        pytest.param(TOPIC, (*IMAGE[:-1], "args"), False, id="about-another-field"),
        pytest.param(TOPIC._replace(change="lossless"), IMAGE, False, id="that-says-nothing-is-lost"),
        pytest.param(TOPIC._replace(explains=("image",)), (), True, id="whose-topic-explains-it"),
        pytest.param(TOPIC._replace(explains=("env.*",)), IMAGE, False, id="whose-topic-explains-something-else"),
    ],
)
def test_a_difference_is_explained_by_a_finding(topic: Topic, path: tuple[str | int, ...], is_explained: bool) -> None:
    assert _explained_by(topic, path) is is_explained


def test_what_is_taken_on_does_not_block() -> None:
    conversion = changed(converted(pytorch(1)), _other_image)
    assert not compared(conversion).is_alike
    assert compared(conversion, Options(accepted=("PROOF001",))).is_alike


def test_a_job_that_v1_refuses_cannot_be_compared_and_is_not_called_alike() -> None:
    job = pytorch(1)
    job["spec"]["pytorchReplicaSpecs"]["Master"]["replicas"] = 2
    comparison = compared_objects(SourceObject(job, "bert.yaml"), {}, None)
    assert [finding.topic.id for finding in comparison.findings] == ["PROOF009"]
    assert not comparison.is_alike


def test_names_of_v1_pods_are_those_of_their_services() -> None:
    side = v1_side(pytorch(2))
    services = desired_services(framework_of("PyTorchJob"), side.job)
    assert [service["metadata"]["name"] for service in services] == [replica.host for replica in side.replicas]


def test_the_account_of_a_conversion_is_held_to_its_results() -> None:
    conversion = converted(pytorch(1, run_policy={"activeDeadlineSeconds": 60}))
    conversion.train_job["spec"]["activeDeadlineSeconds"] = 61
    found = {finding.topic.id: finding.message for finding in compared(conversion).findings}
    assert "activeDeadlineSeconds, but is 61 there and 60 in v1" in found["PROOF004"]


def test_roles_of_their_own_are_compared_with_the_replicated_job_of_their_name() -> None:
    job = pytorch(2)
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["image"] = "worker:1"
    conversion = converted(job)
    assert conversion.runtime is not None
    both = matched(v1_side(job), v2_side(conversion.train_job, conversion.runtime))
    assert [(pair.title, pair.v2 and pair.v2.role) for pair in both.pairs] == [
        ("Master 0", "master"), ("Worker 0", "worker"), ("Worker 1", "worker"),
    ]  # fmt: skip
    assert compared(conversion).is_alike


def test_backoff_limits_do_not_show_in_pods_but_in_endings() -> None:
    def limited(train_job: Json, runtime: Json) -> None:
        job_spec(runtime)["backoffLimit"] = 3

    assert all("The job" in message for message in told(pytorch(1), limited))


ALIASES = [
    {"ip": "10.0.0.9", "hostnames": ["store"]},
    {"ip": "10.0.0.8", "hostnames": ["metrics"]},
    {"ip": "10.0.0.9", "hostnames": ["cache"]},
]
SECRETS = [{"name": "registry"}, {"name": "other"}, {"name": "registry"}]


def _with_repeated_entries(role: str) -> Json:
    """A PyTorchJob of which one role says aliases and secrets twice; the other says the first of each once."""
    job = pytorch(1)
    for name, one in job["spec"]["pytorchReplicaSpecs"].items():
        length = 3 if name == role else 1
        one["template"]["spec"] |= {"hostAliases": ALIASES[:length], "imagePullSecrets": SECRETS[:length]}
    return job


def _aliases(*entries: Json) -> Change:
    return lambda train_job, runtime: pod_spec(runtime).update({"hostAliases": [*entries]})


def _secrets(*names: str) -> Change:
    return lambda train_job, runtime: pod_spec(runtime).update({"imagePullSecrets": [{"name": name} for name in names]})


@pytest.mark.parametrize("role", ["Master", "Worker"])
def test_entries_that_are_there_twice_are_alike_when_they_are_written_once(role: str) -> None:
    comparison = compared(converted(_with_repeated_entries(role)))
    assert comparison.is_alike
    reported = {one.place for one in comparison.differences if one.verdict == "reported" and one.place[0] == "spec"}
    assert reported == {("spec", "hostAliases", "canonical name", "cache")}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            _aliases({"ip": "10.6.6.6", "hostnames": ["evil"]}), "hostnames of 10.6.6.6 in hostAliases is nothing", id="alias"
        ),
        pytest.param(_aliases({"ip": "10.0.0.9", "hostnames": []}), "ip of store in hostAliases is", id="no-names"),
        pytest.param(
            _aliases({"ip": "10.0.0.7", "hostnames": ["store"]}, *ALIASES),
            "ip of store in hostAliases is",
            id="an-address-before",
        ),
        pytest.param(
            _aliases({"ip": "10.0.0.9", "hostnames": ["cache", "store"]}, ALIASES[1]),
            "hostnames of 10.0.0.9 in hostAliases is",
            id="another-canonical-name",
        ),
        pytest.param(_secrets("mine", "other"), "imagePullSecrets is", id="secret"),
        pytest.param(_secrets("registry", "other", "more"), "imagePullSecrets is", id="one-more-secret"),
    ],
)
@pytest.mark.parametrize("role", ["Master", "Worker"])
def test_of_entries_that_are_there_twice_nothing_else_may_differ(role: str, change: Change, message: str) -> None:
    """INPUT021 and INPUT022 are told of one role; the pods that are changed are those of the Master, or of both."""
    found = compared(changed(converted(_with_repeated_entries(role)), change)).findings
    assert {finding.topic.id for finding in found} == {"PROOF001"}
    assert any(message in finding.message for finding in found), found
