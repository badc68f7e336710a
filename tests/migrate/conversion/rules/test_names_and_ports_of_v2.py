"""What differs by what v2 adds: ports, variables, annotations; and by names that become parts of paths. What is about the
rendezvous itself, or ends alike in both generations, is not told."""

from __future__ import annotations

import base64
import shlex
from typing import Any

import pytest

from migrate.conversion.rules.test_indirect_reads import ROLES, converted, limits, python, shell
from shunter.api.meta import Json
from shunter.migrate.conversion.input_context import context_of
from shunter.migrate.conversion.one_job import Conversion, convert
from shunter.migrate.conversion.rules import ssh
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options

STORE = "import os\nimport torch.distributed as dist\ndist.init_process_group('gloo')\n"


def with_config_map(container: Json, data: Json, kind: str = "PyTorchJob", **fields: Any) -> Conversion:
    """A job of one container, whose ConfigMap `settings` the input has."""
    field, name, roles = ROLES[kind]
    template = {"spec": {"containers": [{"name": name, "image": "train:1", **container}], **fields}}
    specs = {role: {"replicas": 1, "template": template} for role in roles}
    metadata = {"name": "bert", "namespace": "training"}
    job = SourceObject({"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata, "spec": {field: specs}}, "job.yaml")
    others = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "training"}, **data}]
    return convert(job, Options(), context_of([job], others))


@pytest.mark.parametrize(
    "command",
    [
        python(f"{STORE}dist.TCPStore(os.environ['MASTER_ADDR'], 29500, is_master=True)"),
        shell("python -m http.server 29500 & torchrun --nproc_per_node=1 t.py"),
        shell("vllm serve m --port=29500 & torchrun --nproc_per_node=1 t.py"),
    ],
)
def test_a_server_at_the_port_where_v2_meets_is_told_of(command: list[str]) -> None:
    assert "HOST023" in limits(converted(command))


@pytest.mark.parametrize(
    "command",
    [
        shell("torchrun --nproc_per_node=1 --master_port=29500 t.py"),
        shell("export MASTER_PORT=${MASTER_PORT:-29500}; python t.py"),
        shell("accelerate launch --main_process_port 29500 t.py"),
        python("import os\nos.environ.setdefault('MASTER_PORT', '29500')\nimport t"),
        python("dist.init_process_group('gloo', init_method='tcp://h:29500', rank=0, world_size=2)"),
        ["python", "t.py", "--steps", "129500"],
    ],
)
def test_the_rendezvous_itself_is_not(command: list[str]) -> None:
    assert "HOST023" not in limits(converted(command))


def test_a_job_that_meets_at_a_port_of_its_own_has_no_other_at_29500() -> None:
    ports = [{"name": "pytorchjob-port", "containerPort": 29400}, {"name": "store", "containerPort": 29500}]
    assert "HOST023" not in limits(converted(["python", "t.py"], ports=ports))
    assert "HOST023" in limits(converted(["python", "t.py"], ports=ports[1:]))


@pytest.mark.parametrize(
    ("container", "kind", "told"),
    [
        ({"envFrom": [{"configMapRef": {"name": "settings"}}]}, "JAXJob", "JAX_PROCESS_ID"),
        ({"envFrom": [{"prefix": "JOB_", "configMapRef": {"name": "settings"}}]}, "PyTorchJob", "JOB_COMPLETION_INDEX"),
    ],
)
def test_a_variable_of_env_from_that_v2_overrides_is_told_of(container: Json, kind: str, told: str) -> None:
    data = {"JAX_PROCESS_ID": "0", "COMPLETION_INDEX": "0", "NCCL_DEBUG": "INFO"}
    found = with_config_map({"command": ["python", "t.py"], **container}, {"data": data}, kind).findings
    assert [finding.message for finding in found if finding.topic.id == "ENV006"] == [
        f"ConfigMap settings sets {told}, which v2 sets itself."
    ]


def test_a_variable_of_env_from_that_v1_sets_too_is_not() -> None:
    container = {"command": ["python", "t.py"], "envFrom": [{"configMapRef": {"name": "settings"}}]}
    assert "ENV006" not in limits(with_config_map(container, {"data": {"RANK": "0", "A": "b"}}))


def test_binary_data_becomes_files_and_no_variables() -> None:
    """The kubelet makes variables of `data` alone."""
    script = "export SHARD=${HOSTNAME##*-}; python t.py"
    reference = {"name": "START", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "START"}}}
    all_of_it = {"configMapRef": {"name": "settings"}}
    for field, told in (("data", True), ("binaryData", False)):
        values = {"START": script, "JAX_PROCESS_ID": "0"}
        coded = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        data = {field: values if field == "data" else coded}
        command = shell('eval "$START"')
        overridden = limits(with_config_map({"command": command, "envFrom": [all_of_it]}, data, "JAXJob"))
        programs = [
            limits(with_config_map({"command": command, **one}, data)) for one in ({"envFrom": [all_of_it]}, {"env": [reference]})
        ]
        assert ("ENV006" in overridden) is told
        assert ["HOST009!" in found for found in programs] == [told, told]


def test_hosts_named_in_binary_data_are_told_of() -> None:
    text = base64.b64encode(b"ssh bert-worker-0 true").decode()
    volumes: list[Json] = [{"name": "code", "configMap": {"name": "settings"}}]
    container = {"command": ["python", "t.py"], "volumeMounts": [{"name": "code", "mountPath": "/code"}]}
    found = with_config_map(container, {"binaryData": {"hosts.txt": text}}, volumes=volumes).findings
    assert any("ConfigMap settings names hosts" in finding.message for finding in found)


def test_jax_without_arguments_looks_for_a_variable_of_v2() -> None:
    assert "HOST014" in limits(converted(python("import jax\njax.distributed.initialize()"), "JAXJob"))
    assert "HOST014" not in limits(converted(python("import jax\njax.distributed.initialize(a, 2, 0)"), "JAXJob"))


def test_a_variable_looked_for_in_small_letters_is_told_of() -> None:
    code = "import os\nknown = {k.lower(): v for k, v in os.environ.items()}\n"
    assert "HOST014" in limits(converted(python(f"{code}known.get('job_completion_index')")))
    assert "HOST014" not in limits(converted(python("print('job_completion_index')")))


@pytest.mark.parametrize(
    "command",
    [
        shell("mkdir -p /ckpt/$MASTER_ADDR; python t.py"),
        shell("python t.py --run-name=${MASTER_ADDR}"),
        shell("RUN_ID=$MASTER_ADDR python t.py"),
        python("import os\np = os.path.join('/ckpt', os.environ['MASTER_ADDR'])"),
        python("import os\np = '/ckpt/' + os.environ['MASTER_ADDR']"),
    ],
)
def test_an_address_in_the_name_of_a_directory_or_a_run_is_told_of(command: list[str]) -> None:
    assert "HOST010" in limits(converted(command))


@pytest.mark.parametrize(
    "command",
    [
        shell("curl http://$MASTER_ADDR/x; torchrun --nproc_per_node=1 --master_addr $MASTER_ADDR t.py"),
        shell("until nc -z $MASTER_ADDR 80; do sleep 1; done; ray start --address=$MASTER_ADDR:6379"),
        shell("scp /a/b $MASTER_ADDR:/c; python t.py --head_node_ip $MASTER_ADDR"),
        python("import os\nurl = 'tcp://' + os.environ['MASTER_ADDR']"),
        python("import os\nif os.environ['MASTER_ADDR'] in ('localhost', '127.0.0.1'): alone()"),
        shell('[ "$MASTER_ADDR" = localhost ] && exit 1; python t.py'),
    ],
)
def test_an_address_that_is_called_or_compared_with_what_no_pod_is_called_is_not(command: list[str]) -> None:
    assert limits(converted(command)) == []


@pytest.mark.parametrize(
    "command",
    [
        shell('[ "$MASTER_ADDR" = localhost -o "$HOSTNAME" = p-master-0 ] && python a.py || python b.py'),
        shell('if [ "$HOSTNAME" = p-master-0 -a "$BIND" = 0.0.0.0 ]; then python a.py; else python b.py; fi'),
        shell('test localhost != "$MASTER_ADDR" -a "$(hostname)" = p-master-0 && python a.py'),
        shell('[ ! \\( "$BIND" = ::1 -o "$HOSTNAME" = p-master-0 \\) ] && python a.py'),
        shell('[ "$HOSTNAME" = "$MASTER_ADDR" -a "$MASTER_ADDR" != 127.0.0.1 ] && python a.py'),
        python("import os, socket\nif socket.gethostname() == os.environ['MASTER'] != 'localhost': alone()"),
    ],
)
def test_a_comparison_beside_one_with_what_no_pod_is_called_decides(command: list[str]) -> None:
    assert "HOST009!" in limits(converted(command))


@pytest.mark.parametrize(
    "text",
    [
        '[ "$MASTER_ADDR" = localhost -o "$MASTER_ADDR" = 127.0.0.1 ] && exit 1; python t.py',
        'test ! localhost = "$MASTER_ADDR" -a -n "$MASTER_ADDR" && python t.py',
        '[ \\( "$MASTER_ADDR" != ::1 \\) -o "$LEVEL" = 3 ] && python t.py',
    ],
)
def test_comparisons_of_which_each_has_what_no_pod_is_called_decide_nothing(text: str) -> None:
    assert "HOST009!" not in limits(converted(shell(text)))


def test_a_directory_of_a_volume_that_is_named_after_an_address_is_told_of() -> None:
    mount: Json = {"name": "c", "mountPath": "/c"}
    pod = {"volumes": [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]}
    for expression, expected in (("$(MASTER_ADDR)/x", ["HOST010"]), ("rank-$(RANK)", [])):
        mounts = [{**mount, "subPathExpr": expression}]
        assert limits(converted(["python", "t.py"], pod=pod, volumeMounts=mounts)) == expected


def test_scripts_in_binary_data_are_read() -> None:
    text = base64.b64encode(b"export SHARD=${HOSTNAME##*-}\npython t.py\n").decode()
    mounts = [{"name": "code", "mountPath": "/code"}]
    volumes: list[Json] = [{"name": "code", "configMap": {"name": "settings"}}]
    container = {"command": ["sh", "/code/run.sh"], "volumeMounts": mounts}
    found = with_config_map(container, {"binaryData": {"run.sh": text, "logo.png": "iVBORw0KGgo="}}, volumes=volumes)
    assert "HOST009!" in limits(found)


def test_what_supervisord_puts_in_is_told_of() -> None:
    for text in ("%(host_node_name)s", "%(ENV_HOSTNAME)s"):
        mounts = [{"name": "code", "mountPath": "/code"}]
        volumes: list[Json] = [{"name": "code", "configMap": {"name": "settings"}}]
        container = {"command": ["supervisord"], "volumeMounts": mounts}
        data = {"data": {"s.conf": f"[program:t]\ncommand=python t.py --name {text}\n"}}
        assert "HOST010" in limits(with_config_map(container, data, volumes=volumes))


def test_a_mount_where_ssh_has_its_keys_blocks() -> None:
    volumes = {"volumes": [{"name": "key", "secret": {"secretName": "git"}}]}
    for path, blocks in (("/root/.ssh/", True), ("/etc/mpi-ssh", True), ("/keys", False)):
        found = converted(["pi"], "MPIJob", volumes, volumeMounts=[{"name": "key", "mountPath": path}]).findings
        assert any(finding.topic.id == "MPI017" and finding.is_blocking for finding in found) is blocks, path


@pytest.mark.parametrize(
    ("resources", "told"),
    [
        ({}, "auto in v1 and 1 in v2"),
        ({"limits": {"cpu": "4"}}, "auto in v1 and 4 in v2"),
        ({"limits": {"nvidia.com/gpu": 2}}, ""),
    ],
)
def test_a_program_that_reads_the_number_of_processes_is_told_of(resources: Json, told: str) -> None:
    command = shell("torchrun --nproc_per_node=$PET_NPROC_PER_NODE t.py")
    messages = [one.message for one in converted(command, resources=resources).findings if one.topic.id == "TORCH012"]
    assert [told in message for message in messages] == [True] * bool(told)


def test_a_program_that_looks_where_to_report_is_told_of() -> None:
    assert "HOST014" in limits(converted(python("import os\nos.environ.get('KUBEFLOW_TRAINER_SERVER_URL')")))


def test_open_mpi_takes_our_ssh_for_one_command() -> None:
    """It splits the variable at colons into commands to try one after the other, and a command at spaces."""
    assert ":" not in ssh.CLIENT
    assert shlex.split(ssh.CLIENT) == ssh.CLIENT.split(" ")
