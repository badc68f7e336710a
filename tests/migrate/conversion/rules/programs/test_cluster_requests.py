"""Programs that make a number of ranks or shards of what the cluster answers are refused where v2 answers something else."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.jobs_with_config_map import with_config_map
from migrate.conversion.rules.test_indirect_reads import converted, python, shell
from shunter.api.meta import Json
from shunter.migrate.conversion.input_context import context_of
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options

ENVIRONMENT: list[Json] = [
    {"name": "JOB", "value": "bert"},
    {"name": "SELECTOR", "value": "training.kubeflow.org/job-name=bert"},
    {"name": "APP", "value": "app=bert"},
]
PODS = "kubectl get pods -l training.kubeflow.org/job-name=$JOB -o name"
LISTED = 'v1.list_namespaced_pod("training", label_selector="training.kubeflow.org/replica-type=worker").items'
CLIENT = "from kubernetes import client, config\nv1 = client.CoreV1Api()\n"


def told(command: list[str], *, v1_labels: bool = False, service: Json | None = None) -> list[tuple[str, str]]:
    """Ids and messages of what is told about requests."""
    specs = {}
    for role, replicas in (("Master", 1), ("Worker", 2)):
        container = {"name": "pytorch", "image": "train:1", "command": command, "env": ENVIRONMENT}
        specs[role] = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
    metadata = {"name": "bert", "namespace": "training"}
    job: Json = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata}
    source = SourceObject({**job, "spec": {"pytorchReplicaSpecs": specs}}, "job.yaml")
    context = context_of([source], [service] if service else [])
    findings = convert(source, Options(v1_labels=v1_labels), context).findings
    return [(one.topic.id, one.message) for one in findings if one.topic.id in ("HOST012", "HOST030")]


def ids(command: list[str]) -> set[str]:
    return {topic for topic, _ in told(command)}


@pytest.mark.parametrize(
    "text",
    [
        f"WORLD_SIZE=$({PODS} | wc -l)",
        f"N=$({PODS} | wc -l)\ntorchrun --nnodes=$N train.py",
        f"N=$({PODS} --no-headers | grep -c Running); python train.py --batch-size $((256 / N))",
        f"replicas=$({PODS} | wc -l)\nepochs=$((90 / replicas))\npython train.py --epochs $epochs",
        "NNODES=$(kubectl get pods \\\n  -l $SELECTOR -o name | wc -l)",
        "NNODES=$(kubectl -n training get po -l $OTHER -o name | wc -l)",
        "NNODES=$(timeout 9 kubectl get pod -l training.kubeflow.org/job-name=bert -o json | jq '.items | length')",
        "N=$(kubectl get pods -l training.kubeflow.org/job-name=bert -o go-template='{{len .items}}'); train --nnodes=$N",
        f"for p in $({PODS}); do N=$((N + 1)); done; export WORLD_SIZE=$N",
        f"RANK=$({PODS} | sort | grep -n $POD_NAME | cut -d: -f1)",
        "WORLD_SIZE=$(kubectl get pods | grep -c bert-worker)",
        "i=0; while kubectl get pod $NAME-worker-$i; do ((i++)); done; export WORLD_SIZE=$i",
        "WORLD_SIZE=$(kubectl get pods -o name | grep worker | wc -l)",
        "NNODES=$(kubectl get pytorchjob bert -o jsonpath='{.spec.pytorchReplicaSpecs.Worker.replicas}')",
        "BATCH_SIZE=$(curl -s $API/apis/kubeflow.org/v1/namespaces/training/pytorchjobs/bert | jq .spec.x.replicas)",
        "NNODES=$(curl -s $API/api/v1/namespaces/n/pods?labelSelector=training.kubeflow.org/job-name=b | jq '.items|length')",
        "NNODES=$(kubectl get endpoints bert-worker -o json | jq '[.subsets[].addresses[]] | length')",
        "NNODES=$(kubectl get endpoints trainers -o jsonpath='{.subsets[*].addresses[*].ip}' | wc -w)",
        "NNODES=$(kubectl get svc -l training.kubeflow.org/job-name=bert -o name | wc -l)",
    ],
)
def test_a_number_of_what_a_shell_asks_for_is_refused(text: str) -> None:
    assert ids(shell(f"{text}\npython train.py")) == {"HOST030"}


@pytest.mark.parametrize(
    "code",
    [
        f"world_size = len({LISTED})",
        f"pods = {LISTED}\nmain(learning_rate=1e-3 * len(pods))",
        f"pods = {LISTED}\nmain(accumulate=64 // len(pods))",
        f"names = sorted(p.metadata.name for p in {LISTED})\nrank = names.index(me)",
        'sel = f"training.kubeflow.org/job-name={job}"\nworld_size = len(v1.list_namespaced_pod(ns, label_selector=sel).items)',
        'def peers(sel):\n    return v1.list_namespaced_pod(ns, label_selector=sel).items\nworld_size = len(peers("x"))',
        'ep = v1.read_namespaced_endpoints("bert-worker", ns)\nworld_size = len(ep.subsets[0].addresses)',
        'me = api.get_namespaced_custom_object("kubeflow.org", "v1", ns, "pytorchjobs", job)\nworld_size = me["replicas"]',
        'import lightkube as k\nworld_size = len(list(k.Client().list(Pod, labels={"training.kubeflow.org/job-name": job})))',
        'import kr8s\nworld_size = len(list(kr8s.get("pods", label_selector="training.kubeflow.org/job-name=bert")))',
        'r = requests.get(f"{api}/api/v1/pods?labelSelector=training.kubeflow.org/job-name")\nnum_nodes = len(r.json()["items"])',
        f'import subprocess\nworld_size = int(subprocess.check_output("{PODS} | wc -l", shell=True))',
        'out = check_output(["kubectl", "get", "pods", "-l", "training.kubeflow.org/job-name"])\nnum_nodes = len(out.split())',
        'pods = v1.list_namespaced_pod(\n    "n",\n    label_selector="training.kubeflow.org/job-name",\n)\nnnodes = len(pods)',
        'pods = v1.list_namespaced_pod(ns).items\nworld_size = len([p for p in pods if "-worker-" in p.metadata.name])',
        'n = 0\nfor p in v1.list_namespaced_pod(ns).items:\n    if "-worker-" in p.metadata.name:\n        n += 1\nnnodes = n',
        'key = "training.kubeflow.org/job-name"\nnnodes = len([p for p in v1.list_namespaced_pod(ns).items if mine(p, key)])',
        'w = Watch().stream(v1.list_namespaced_pod, label_selector="training.kubeflow.org/job-name")\nnnodes = len(list(w))',
        f"print 'of Python 2'\nworld_size = len({LISTED})",
    ],
)
def test_a_number_of_what_python_asks_for_is_refused(code: str) -> None:
    assert "HOST030" in ids(python(f"{CLIENT}{code}\ntrain()"))


@pytest.mark.parametrize(
    "command",
    [
        shell(f"N=$({PODS} | wc -l); echo $N; python train.py"),
        shell(f"until [ $({PODS} | wc -l) -ge $WORLD_SIZE ]; do sleep 1; done; python train.py"),
        shell(f'curl -d "peers=$({PODS} | wc -l)" http://push; python train.py'),
        shell("NNODES=$(kubectl get pods -l $APP -o name | wc -l); python train.py"),
        shell("NNODES=$(kubectl get pods -o name | grep -c bert); python train.py"),
        shell("N=$(kubectl get pods -o name | wc -l); torchrun --nnodes=$N --master-addr=$MASTER_ADDR --master_port=29500 t.py"),
        shell("NUM_WORKERS=$(kubectl get pods -l $OTHER -o name | wc -l); python train.py"),
        shell("kubectl get pods -l training.kubeflow.org/job-name=bert; N=4; torchrun --nnodes=$N t.py"),
        python(f'{CLIENT}print(len({LISTED}))\nmain(world_size=int(os.environ["WORLD_SIZE"]))'),
    ],
)
def test_a_request_that_decides_nothing_or_is_for_others_is_at_most_a_warning(command: list[str]) -> None:
    assert ids(command) == {"HOST012"}


def test_a_role_that_pods_of_v2_are_called_by_finds_as_many_pods() -> None:
    command = shell("WORLD_SIZE=$(kubectl get pods -o name | grep -c -- -worker-)\npython train.py")
    assert "HOST030" in {one.topic.id for one in converted(command).findings}
    assert "HOST030" not in {one.topic.id for one in converted(command, "TFJob").findings}


def test_labels_of_v1_that_pods_keep_find_as_many_pods() -> None:
    command = shell(f"WORLD_SIZE=$({PODS} | wc -l)")
    assert "HOST030" not in {topic for topic, _ in told(command, v1_labels=True)}


def test_the_line_the_label_and_the_number_are_named() -> None:
    ((topic, message),) = told(shell(f"set -e\nN=$({PODS} | wc -l)\ntorchrun --nnodes=$N t.py"))
    assert topic == "HOST030"
    assert message == (
        "'N=$(kubectl get pods -l training.kubeflow.org/job-name=$JOB -o name | wc -l)': training.kubeflow.org/job-name is on no "
        "pod of v2; nnodes is made of the answer's count."
    )


@pytest.mark.parametrize(("selector", "is_told"), [({"training.kubeflow.org/job-name": "bert"}, True), ({"app": "bert"}, False)])
def test_endpoints_of_a_service_of_the_input_are_known_by_what_it_selects(selector: Json, is_told: bool) -> None:
    metadata = {"name": "trainers", "namespace": "training"}
    service: Json = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": selector}}
    command = shell("NNODES=$(kubectl get endpoints trainers -o json | jq '[.subsets[].addresses[]] | length')")
    assert ("HOST030" in {topic for topic, _ in told(command, service=service)}) == is_told


@pytest.mark.parametrize("file", ["Makefile", "count.js", "run.PL", "start"])
def test_mounted_programs_of_other_languages_are_searched(file: str) -> None:
    container = {"command": ["make"], "volumeMounts": [{"name": "code", "mountPath": "/code"}]}
    data = {file: f"{'#!/usr/bin/env x' if file == 'start' else ''}\nN = `{PODS}`", "notes.txt": PODS}
    volumes = [{"name": "code", "configMap": {"name": "settings"}}]
    conversion = with_config_map(container, {"data": data}, volumes=volumes)
    (found,) = (one for one in conversion.findings if one.topic.id == "HOST012")
    assert file in found.message
