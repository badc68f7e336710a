"""The migration from its first command to its last, as its guide tells it: assessed, converted, tried, moved, until no v1 job is
left and v1's definitions are gone; and all the way back."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from e2e.running_cluster import Cluster, eventually
from shunter.api.training.kinds import JOB_KINDS

pytestmark = pytest.mark.timeout(600)

LEARNS = """
import os, sys, time
print(f"rank={os.environ['RANK']} world_size={os.environ['WORLD_SIZE']}", flush=True)
for step in range(1, 6):
    print(f"step={step} loss={1 / step:.4f}", flush=True)
"""
RUNS_FOR_EVER_IN_V1 = f"""{LEARNS}
    if step == 3 and 'JOB_COMPLETION_INDEX' not in os.environ:
        time.sleep(600)
"""
SAYS_NOTHING = "pass"
PROGRAMS = {
    "had-finished": (LEARNS, False),
    "runs-and-is-moved": (RUNS_FOR_EVER_IN_V1, False),
    "never-ran": (LEARNS, True),
    "tried-in-v2": (LEARNS, True),
    "has-no-metrics": (SAYS_NOTHING, True),
}
"""What the jobs of the story do, and whether they are suspended when it begins."""
DEFINITIONS = [f"{kind.resource.plural}.{kind.resource.group}" for kind in JOB_KINDS]
EVERY_KIND = ",".join(DEFINITIONS)


def pytorch_job(name: str, namespace: str) -> dict[str, Any]:
    program, suspend = PROGRAMS[name]
    container = {"name": "pytorch", "image": "python", "command": ["python", "-c", program]}
    template = {"spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}
    replica = {"replicas": 1, "restartPolicy": "OnFailure", "template": template}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"runPolicy": {"suspend": suspend}, "pytorchReplicaSpecs": {"Master": replica, "Worker": replica}},
    }


class Story:
    """The guide's commands in one directory, on one namespace."""

    def __init__(self, cluster: Cluster, namespace: str, directory: Path) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.directory = directory

    def __call__(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """`shunter migrate ...` in the story's directory."""
        done = self.cluster.shunter("migrate", *words, cwd=self.directory, timeout=240)
        assert done.returncode == code, f"{' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def here(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return self(*words, "-n", self.namespace, code=code)

    def by_plan(self, verb: str, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return self(verb, "--plan", "plan.yaml", *words, code=code)

    def wait(self, what: str, condition: str) -> None:
        self.cluster.kubectl("wait", what, "-n", self.namespace, f"--for=condition={condition}", "--timeout=120s")

    def resume(self, train_job: str) -> None:
        patch = '{"spec":{"suspend":false}}'
        self.cluster.kubectl("patch", "trainjob", train_job, "-n", self.namespace, "--type=merge", "-p", patch)
        self.wait(f"trainjob/{train_job}", "Complete")

    def printed(self, pod: str) -> str:
        """Nothing while it has not started."""
        return self.cluster.try_kubectl("logs", pod, "-n", self.namespace).stdout

    def names(self, kind: str) -> list[str]:
        found = self.cluster.kubectl("get", kind, "-n", self.namespace, "-o", "name").split()
        return sorted(name.partition("/")[2] for name in found)


@pytest.fixture
def story(cluster: Cluster, namespace: str, tmp_path: Path) -> Story:
    """Other tests' jobs go first: they would keep v1's definitions."""
    cluster.kubectl("delete", EVERY_KIND, "--all", "--all-namespaces", "--wait=false")
    eventually(lambda: not cluster.kubectl("get", EVERY_KIND, "--all-namespaces", "-o", "name").split())
    return Story(cluster, namespace, tmp_path)


def test_from_assessment_to_no_v1_job_and_back(story: Story) -> None:
    assessed(story)
    converted(story)
    tried(story)
    moved(story)
    nothing_of_v1_is_left(story)
    all_the_way_back(story)


def assessed(story: Story) -> None:
    story.here("validate-readiness")
    jobs = story.directory / "all-pytorch-jobs"
    jobs.mkdir()
    for name in PROGRAMS:
        (jobs / f"{name}.json").write_text(json.dumps(pytorch_job(name, story.namespace)))
    story.cluster.kubectl("apply", "-f", str(jobs))
    story.wait("pytorchjob/had-finished", "Succeeded")
    story.wait("pytorchjob/runs-and-is-moved", "Running")
    # It is Running before its worker's program is: what that had not printed could not be compared.
    eventually(lambda: all("step=3" in story.printed(f"runs-and-is-moved-{replica}-0") for replica in ("master", "worker")))
    listed = json.loads(story.here("inventory", "--cluster", "-o", "json").stdout)
    assert listed["jobs"] == len(PROGRAMS)


def converted(story: Story) -> None:
    story("convert", "--directory", "./all-pytorch-jobs")
    made = story.directory / "all-pytorch-jobs-converted"
    assert {f"{name}.json" for name in PROGRAMS} <= {path.name for path in made.iterdir()}
    single = story("convert", "all-pytorch-jobs/had-finished.json").stdout
    (story.directory / "converted-job.yaml").write_text(single)
    story("validate", "all-pytorch-jobs/had-finished.json")
    story.cluster.kubectl("apply", "--dry-run=client", "-f", str(story.directory / "converted-job.yaml"))


def tried(story: Story) -> None:
    """Nothing has been moved yet: the converted job runs as test-NAME beside its original."""
    done = story.here("test-deploy", "converted-job.yaml")
    assert f"TrainJob {story.namespace}/test-had-finished succeeded" in done.stderr
    assert ": equal" in story.here("compare", "had-finished", "test-had-finished", "--throughput", "100").stderr
    story.cluster.kubectl("delete", "trainjob", "test-had-finished", "-n", story.namespace)


def moved(story: Story) -> None:
    story("backup", "backup", "-n", story.namespace)
    story.here("plan", "--running", "move", "--journal-namespace", story.namespace, "-o", "plan.yaml")
    story.by_plan("apply", "--yes")
    story.wait("trainjob/runs-and-is-moved", "Complete")
    for name in ("tried-in-v2", "has-no-metrics"):
        story.resume(name)
    compared = {
        one["original"].rpartition("/")[2]: (one["verdict"], one["notSeen"])
        for one in json.loads(story.by_plan("compare", "-o", "json", "--throughput", "100").stdout)
    }
    assert {name: verdict for name, (verdict, _) in compared.items()} == dict.fromkeys(
        ("runs-and-is-moved", "tried-in-v2", "has-no-metrics"), "equal"
    )
    assert compared["runs-and-is-moved"][1] == ["status", "final loss", "throughput"], "three steps of both were compared"
    assert compared["tried-in-v2"][1][0] == "status", "it never ran in v1"
    cleaned = story.by_plan("cleanup", "--yes").stderr
    assert "had-finished: it has finished (Succeeded); its record is archived" in cleaned
    assert "never-ran: it never ran, and TrainJob never-ran, proved pod by pod, waits in its place" in cleaned
    assert "has-no-metrics: its TrainJob is Complete, and compares (not seen: " in cleaned


def nothing_of_v1_is_left(story: Story) -> None:
    eventually(lambda: story.names("pytorchjobs") == [])
    assert story.names("trainjobs") == sorted(set(PROGRAMS) - {"had-finished"})
    assert json.loads(story.by_plan("status", "-o", "json").stdout)["left"] == {}
    story.by_plan("apply", "--finalize", "--yes")
    eventually(lambda: not definitions(story))


def definitions(story: Story) -> set[str]:
    """Those of v1 that are there."""
    found = story.cluster.kubectl("get", "customresourcedefinitions", "-o", "name").split()
    return {name.partition("/")[2] for name in found} & set(DEFINITIONS)


def all_the_way_back(story: Story) -> None:
    """What trained stays trained: its v1 job comes back suspended, and its TrainJob stays."""
    rolled_back = story.by_plan("rollback", "--yes")
    assert "recreated, it would train again; it is in the archive of the cleanup" in rolled_back.stdout
    assert "kept 4 finished jobs, which would train again if undone: " in rolled_back.stderr
    assert definitions(story) == set(DEFINITIONS)
    assert story.names("pytorchjobs") == sorted(set(PROGRAMS) - {"had-finished"})
    assert story.names("trainjobs") == ["has-no-metrics", "runs-and-is-moved", "tried-in-v2"]
    story("restore", "plan.yaml.archive", "--finished", "--yes")
    assert story.names("pytorchjobs") == sorted(PROGRAMS)
    jobs = story.cluster.get("pytorchjobs", "-n", story.namespace)["items"]
    assert {job["spec"]["runPolicy"]["suspend"] for job in jobs} == {True}
    assert not story.cluster.kubectl("get", "pods", "-n", story.namespace, "-l", "training.kubeflow.org/job-name", "-o", "name")
