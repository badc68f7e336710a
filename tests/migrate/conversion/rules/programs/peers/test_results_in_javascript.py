"""Counts of pods in JavaScript that become numbers of ranks or shards."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.jobs_with_config_map import with_config_map
from migrate.conversion.rules.test_indirect_reads import converted, limits
from shunter.migrate.conversion.rules.programs.peers.results_in_javascript import found_in_javascript

API = "'https://kubernetes.default/api/v1/namespaces/n/pods?labelSelector=training.kubeflow.org/job-name=bert'"
CLIENT = "kc.makeApiClient(k8s.CoreV1Api).listNamespacedPod({namespace: 'n', labelSelector: 'training.kubeflow.org/job-name=b'})"
START = "require('child_process').spawnSync('torchrun', ['--nnodes', "
KUBECTL = "kubectl get pods -l training.kubeflow.org/job-name=bert -o name"


@pytest.mark.parametrize(
    ("code", "topic"),
    [
        (f"const pods = (await (await fetch({API})).json()).items;\n{START}String(pods.length), 't.py']);", "HOST030!"),
        (f"{CLIENT}\n  .then(r => {START}r.body.items.length, 't.py']))", "HOST030!"),
        (f"const {{items}} = await {CLIENT};\nconst worldSize = items.length;", "HOST030!"),
        (f"const out = execSync('{KUBECTL} | wc -l');\nprocess.env.WORLD_SIZE = String(out).trim();", "HOST030!"),
        (f"const out = execSync('{KUBECTL}').toString().split();\n{START}`${{out.length}}`])", "HOST030!"),
        ("const all = await dns.promises.resolve4('trainers');\nrun(`--nnodes=${all.length}`)", "HOST029!"),
        ("dns.resolve4('bert-worker', (err, found) => {\n  train({numShards: found.length});\n});", "HOST029!"),
    ],
)
def test_a_count_that_decides_is_refused(code: str, topic: str) -> None:
    assert topic in limits(converted(["node", "-e", code]))


@pytest.mark.parametrize(
    "code",
    [
        f"const pods = (await (await fetch({API})).json()).items;\nconsole.log(pods.length);",
        f"await {CLIENT};\n{START}process.env.WORLD_SIZE])",
        "const files = fs.readdirSync('/data');\nrun(`--num-shards=${files.length}`)",
        "const found = await dns.promises.resolve4('redis');\nrun(`--num-shards=${found.length}`)",
        "const ip = await dns.promises.lookup(process.env.MASTER_ADDR);\nrun(`--nnodes=${process.env.WORLD_SIZE}`)",
    ],
)
def test_one_that_decides_nothing_is_not(code: str) -> None:
    assert not {"HOST029!", "HOST030!"} & {*limits(converted(["node", "-e", code]))}


@pytest.mark.parametrize("file", ["run.js", "run.mjs", "run.ts"])
def test_a_mounted_file_is_read(file: str) -> None:
    container = {"command": ["node", f"/code/{file}"], "volumeMounts": [{"name": "code", "mountPath": "/code"}]}
    volumes = [{"name": "code", "configMap": {"name": "settings"}}]
    data = {file: f"const pods = await (await fetch({API})).json();\nconst nnodes = pods.items.length;\n"}
    assert "HOST030!" in limits(with_config_map(container, {"data": data}, volumes=volumes))


def test_what_is_unclosed_is_read_to_its_end() -> None:
    assert not found_in_javascript("const a = [{(`" * 500).numbers
