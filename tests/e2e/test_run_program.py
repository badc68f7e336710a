"""`shunter run train.py`: a program and its directory become a job, on any cluster; what cannot be meant creates nothing."""

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from e2e.running_cluster import REPOSITORY, SHUNTER, Cluster, eventually
from fault_transport import FaultTransport, Killed
from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.api.trainer.runtime import ANCESTOR_LABEL
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.manifests import parse
from shunter.launch.annotations import CODE_LABEL, PROGRAM
from shunter.launch.applying import apply_all
from shunter.launch.code.delivery import PackedCode
from shunter.launch.code.packing import PIECE_BYTES, Entry, archive
from shunter.launch.deleting import delete_and_wait, delete_leftovers
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.running import followed
from shunter.launch.runtimes.choice import FRAMEWORK_LABEL, Runtime, find_runtime
from shunter.launch.submitting import resubmit, submit

pytestmark = pytest.mark.timeout(240)

JAX = "--runtime=jax-distributed"
"""Starts a program with python alone: quicker than torchrun, where that is not what the test is about."""

TRAIN = """\
import os, sys
import torch.distributed as dist
from pkg.words import greeting

dist.init_process_group("gloo")
dist.barrier()
print(greeting, dist.get_rank(), "of", dist.get_world_size(), sys.argv[1:], sorted(os.listdir(".")), os.environ["A"], flush=True)
dist.barrier()
dist.destroy_process_group()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory with a script that needs no torch, a package and a secret."""
    root = tmp_path / "project"
    (root / "pkg").mkdir(parents=True)
    (root / "train.py").write_text("import sys\nprint('trained', sys.argv[1:])\n")
    (root / "pkg/words.py").write_text("greeting = 'hello'\n")
    (root / ".env").write_text("TOKEN=abc123\n")
    return root


def maps(cluster: Cluster, namespace: str) -> list[Json]:
    found: list[Json] = cluster.get("configmaps", "-n", namespace, "-l", CODE_LABEL)["items"]
    return found


def jobs(cluster: Cluster, namespace: str) -> list[str]:
    return [job["metadata"]["name"] for job in cluster.get("trainjobs", "-n", namespace)["items"]]


def test_a_program_trains_on_two_nodes_with_its_package_and_its_words(cluster: Cluster, namespace: str, project: Path) -> None:
    (project / "train.py").write_text(TRAIN)
    words = ["--log", "a b", "it's $HOME", "--", "-n"]
    started = ["run", str(project / "train.py"), "-n", namespace, "--nodes", "2", "--snapshot", "-e", "A=1", "--name", "first"]
    done = cluster.shunter(*started, "--", *words, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(2):
        assert f"[node-{rank}] hello {rank} of 2 {words} ['pkg', 'train.py'] 1\n" in done.stdout
    assert "code: 2 files, " in done.stderr
    assert f"TrainJob {namespace}/first: 2 nodes x 1 process, runtime " in done.stderr
    assert f"TrainJob {namespace}/first succeeded\nagain: shunter run --rerun first -n {namespace}\n" in done.stderr
    assert "abc123" not in json.dumps(maps(cluster, namespace))


def test_the_outcome_of_the_program_is_that_of_the_command(cluster: Cluster, namespace: str, project: Path) -> None:
    # Upstream's runtimes start a failed container again, six times; this one does not.
    container = {"name": "node", "image": "any:1"}
    pods = {"restartPolicy": "Never", "containers": [container]}
    trainer = {"metadata": {"labels": {ANCESTOR_LABEL: "trainer"}}, "spec": {"backoffLimit": 0, "template": {"spec": pods}}}
    spec = {
        "mlPolicy": {"numNodes": 1, "jax": {}},
        "template": {"spec": {"replicatedJobs": [{"name": "node", "template": trainer}]}},
    }
    metadata = {"name": "once", "namespace": namespace, "labels": {FRAMEWORK_LABEL: "jax"}}
    cluster.apply({"apiVersion": TRAINING_RUNTIMES.api_version, "kind": "TrainingRuntime", "metadata": metadata, "spec": spec})
    (project / "train.py").write_text("raise SystemExit('no data')\n")
    done = cluster.shunter("run", str(project / "train.py"), "-n", namespace, "--runtime", "once")
    assert done.returncode == 1, done.stderr
    assert f"TrainJob {namespace}/train failed" in done.stderr
    assert "no data" in done.stdout


def test_a_name_that_was_not_given_is_never_taken(cluster: Cluster, namespace: str, project: Path) -> None:
    run = ["run", str(project / "train.py"), "-n", namespace, "--snapshot", "--detach", JAX]
    first, second = cluster.shunter(*run), cluster.shunter(*run)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert f"TrainJob {namespace}/train: 1 node x 1 process" in first.stderr
    assert f"follow it: shunter logs -f train -n {namespace}" in first.stderr
    assert f"TrainJob {namespace}/train-2 (train is taken): " in second.stderr
    assert "already in the cluster" in second.stderr
    refused = cluster.shunter(*run, "--name", "train", "--replace", "--volume", "none:/d")
    assert (refused.returncode, jobs(cluster, namespace)) == (2, ["train", "train-2"]), (
        "nothing is deleted for a job that cannot be"
    )
    given = cluster.shunter(*run, "--name", "train")
    assert (given.returncode, f"TrainJob {namespace}/train exists" in given.stderr) == (2, True), given.stderr
    # The code is one ConfigMap of both jobs, and goes with the last of them.
    (code,) = maps(cluster, namespace)
    assert sorted(owner["name"] for owner in code["metadata"]["ownerReferences"]) == ["train", "train-2"]
    assert cluster.shunter("delete", "train", "-n", namespace).returncode == 0
    eventually(
        lambda: [o["name"] for found in maps(cluster, namespace) for o in found["metadata"]["ownerReferences"]] == ["train-2"]
    )
    assert cluster.shunter("delete", "train-2", "-n", namespace).returncode == 0
    eventually(lambda: not maps(cluster, namespace))


def test_a_job_deleted_while_torch_is_imported_does_not_use_up_its_grace_period(
    cluster: Cluster, namespace: str, project: Path
) -> None:
    (project / "train.py").write_text("import time\ntime.sleep(600)\n")
    started = cluster.shunter("run", str(project / "train.py"), "-n", namespace, "--grace", "200s", "--snapshot", "--detach")
    assert started.returncode == 0, started.stderr
    eventually(lambda: [pod["status"]["phase"] for pod in cluster.get("pods", "-n", namespace)["items"]] == ["Running"])
    done = cluster.shunter("delete", "train", "-n", namespace, timeout=100)
    assert done.returncode == 0, done.stderr


def test_a_job_runs_again_by_its_name(cluster: Cluster, namespace: str, project: Path) -> None:
    run = ["run", str(project / "train.py"), "-n", namespace, "--snapshot", JAX, "-e", "A=1"]
    assert cluster.shunter(*run, "--", "a b").returncode == 0
    (project / "train.py").write_text("raise SystemExit('another program')\n")
    again = cluster.shunter("run", "--rerun", "train", "-n", namespace)
    assert again.returncode == 0, again.stderr
    assert "[node-0] trained ['a b']" in again.stdout
    assert "code: the same as train's, sha256 " in again.stderr
    assert f"TrainJob {namespace}/train-2: train.py, as train\n" in again.stderr
    refused = cluster.shunter("run", "--rerun", "train", "--nodes", "2", "-n", namespace)
    assert (refused.returncode, "runs with the options of that job; --nodes cannot be given" in refused.stderr) == (2, True)


@pytest.mark.embedded(why="only there the pods run on the machine that has the directory")
def test_on_the_embedded_cluster_the_directory_is_mounted(cluster: Cluster, namespace: str, project: Path) -> None:
    (project / "train.py").write_text(
        "import os\nopen(os.environ['SHUNTER_CHECKPOINT_DIR'] + '/step-1', 'w')\nprint(os.getcwd())\n"
    )
    done = cluster.shunter("run", str(project / "train.py"), "-n", namespace, JAX)
    assert done.returncode == 0, done.stderr
    assert f"code: {project} (mounted, read only: later edits show in the running job" in done.stderr
    assert not maps(cluster, namespace)
    kept = Path(cluster.environment["SHUNTER_STATE_DIR"]) / "checkpoints" / namespace
    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("*")) == ["train", "train/step-1"]
    # A job of another making must not go on from them: the name stays taken when the job is gone.
    assert cluster.shunter("delete", "train", "-n", namespace).returncode == 0
    again = cluster.shunter("run", str(project / "train.py"), "-n", namespace, JAX, "--detach")
    assert f"TrainJob {namespace}/train-2 (train is taken)" in again.stderr
    # What this machine does not have is said; a module that nobody can import is refused.
    asked = cluster.shunter("run", str(project / "train.py"), "-n", namespace, JAX, "--image=me/no:1", "--cpus=9999", "--dry-run")
    assert "warning: image me/no:1 maps to the Python environment of shunter; see: shunter images add\n" in asked.stderr, (
        asked.stderr
    )
    assert "warning: each node asked for 9999 cpu, this machine has " in asked.stderr
    nobodys = cluster.shunter("run", "-m", "nopkg.mod", "--workdir", str(project), "-n", namespace)
    assert nobodys.returncode == 2
    assert f"nopkg is neither in {project} nor installed in this Python environment" in nobodys.stderr
    rerun = cluster.shunter("run", "--rerun", "train-2", "-n", namespace, "--detach")
    assert "mounted, so the job runs its present content" in rerun.stderr, rerun.stderr


def page_example(before: str, after: str) -> str:
    """The code that the page has between these texts."""
    page = (REPOSITORY / "docs/training/run.md").read_text()
    return "\n".join(line.removeprefix("    ") for line in page.partition(before)[2].partition(after)[0].splitlines())


def test_the_objects_of_the_page_are_made_without_a_cluster_and_train_when_they_are_applied(
    cluster: Cluster, namespace: str, project: Path
) -> None:
    example = page_example("the ConfigMaps with the code, and the TrainJob.\n", "\nPipe what it prints")
    (project / "train.py").write_text("import os, sys\nprint('rank', os.environ['RANK'], sys.argv[1:])\n")
    nowhere = {key: value for key, value in cluster.environment.items() if key not in ("KUBECONFIG", "SHUNTER_STATE_DIR")}
    made = subprocess.run(
        [sys.executable, "-c", example.replace('"default"', f'"{namespace}"')],
        env={**nowhere, "HOME": str(project), "XDG_STATE_HOME": str(project)},
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert jobs(cluster, namespace) == []
    cluster.kubectl("apply", "-f", "-", stdin=made.stdout)
    cluster.kubectl("wait", "trainjob/train", "-n", namespace, "--for=condition=Complete", "--timeout=120s", timeout=130)
    said = cluster.shunter("logs", "train", "-n", namespace).stdout
    assert all(f"rank {rank} ['--epochs', '3']" in said for rank in range(2)), said


@pytest.mark.embedded(why="is about finding the cluster that nobody named")
def test_the_example_of_the_page_runs_from_python(cluster: Cluster, project: Path) -> None:
    example = page_example("## From Python\n", "\n`run` finds")
    (project / "train.py").write_text("import os, sys\nprint('saves in', os.environ['SHUNTER_CHECKPOINT_DIR'], sys.argv[1:])\n")
    refused = 'from shunter.errors import InputError\ntry:\n    run("train.py", volumes=["a:/workspace/code"])\n'
    refused += "except InputError as error:\n    print('refused:', error)\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{example}\n{refused}"],
        env=cluster.environment,
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "on embedded cluster https://" in done.stderr
    for rank in range(2):
        assert re.search(rf"^\[node-{rank}\] saves in /workspace/checkpoints/train\S* \['--epochs', '3'\]$", done.stdout, re.M)
    *_, succeeded, refused = done.stdout.splitlines()
    assert succeeded == "succeeded"
    assert refused.startswith("refused: --volume a:/workspace/code: the code is mounted there.")


SAVING = """\
import os, pathlib, sys
place = pathlib.Path(os.environ["SHUNTER_CHECKPOINT_DIR"])
found = sorted(path.parent.name for path in place.glob("step-*/.metadata"))
print("goes on from", found, flush=True)
step = place / f"step-{len(found) + 1}"
step.mkdir()
(step / ".metadata").write_text("complete")
"""


NOT_RESUMED = {
    "--resume nosuch --checkpoints s3://models/runs": "give the new job its name: --name nosuch -e SHUNTER_MUST_RESUME=true",
    "--resume nosuch": "no complete checkpoint in ",
    "--resume s3job --checkpoints s3://models/other": "saves its checkpoints in s3://models/runs, not in s3://models/other",
    "--resume s3job --checkpoints ./none": "no complete checkpoint in ",
    "--resume train -e SHUNTER_CHECKPOINT_DIR=/data": "--resume train and the variable SHUNTER_CHECKPOINT_DIR both name",
}


def test_checkpoints_are_listed_and_another_job_goes_on_from_them(cluster: Cluster, namespace: str, project: Path) -> None:
    if cluster.kind == "real":
        pytest.skip("directories for checkpoints are on the embedded cluster's machine")
    (project / "train.py").write_text(SAVING)
    run = ["run", str(project / "train.py"), "-n", namespace, JAX]
    nothing = cluster.shunter(*run, "--resume", "train")
    assert nothing.returncode == 2
    assert "no complete checkpoint in" in nothing.stderr
    assert jobs(cluster, namespace) == []
    for more, said in (([], "goes on from []"), (["--resume", "train"], "goes on from ['step-1']")):
        done = cluster.shunter(*run, *more)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout + done.stderr
    again = cluster.shunter("run", "--rerun", "train-2", "-n", namespace)
    assert "goes on from []" in again.stdout + again.stderr

    header, newest, first = cluster.shunter("checkpoints", "train", "-n", namespace).stdout.splitlines()
    assert header.split() == ["STEP", "SIZE", "AGE"]
    assert (newest.split()[0], first.split()[0]) == ("2", "1")
    rows = json.loads(cluster.shunter("checkpoints", "-n", namespace, "-o", "json").stdout)
    assert [(row["job"], [step["step"] for step in row["steps"]]) for row in rows] == [("train", [2, 1]), ("train-3", [1])]
    resumed = cluster.shunter("checkpoints", "train-2", "-n", namespace)
    assert [line.split()[0] for line in resumed.stdout.splitlines()] == ["STEP", "2", "1"], resumed.stderr
    assert f"train-2 saves in the location of train: {rows[0]['directory']}" in resumed.stderr
    assert sorted(path.name for path in Path(rows[0]["directory"]).iterdir()) == ["step-1", "step-2"]
    missing = cluster.shunter("checkpoints", "train-9", "-n", namespace)
    assert missing.returncode == 2
    assert "there is no job 'train-9', and no job of that name has saved a checkpoint on this machine" in missing.stderr

    # A job says itself where its checkpoints are, and a place that cannot be looked into is not believed to have some.
    bucket, dry = ["--checkpoints", "s3://models/runs"], ["--dry-run", "-o", "json"]
    (project / "train.py").write_text("print('saved elsewhere')\n")
    assert cluster.shunter(*run, *bucket, "--name", "s3job").returncode == 0
    for more in (["--resume", "s3job"], ["--resume", "s3job", *bucket]):
        printed = cluster.shunter(*run, *more, *dry)
        assert printed.returncode == 0, printed.stderr
        assert "not checked whether s3://models/runs contains checkpoints of s3job" in printed.stderr
        (found,) = json.loads(printed.stdout)["items"]
        variables = {variable["name"]: variable["value"] for variable in found["spec"]["trainer"]["env"]}
        assert variables["SHUNTER_CHECKPOINT_DIR"] == "s3://models/runs/s3job"
        assert variables["SHUNTER_MUST_RESUME"] == "true"
    for words, message in NOT_RESUMED.items():
        refused = cluster.shunter(*run, *words.split())
        assert (refused.returncode, message in refused.stderr) == (2, True), refused.stderr

    (project / "train.py").write_text("import time\ntime.sleep(600)\n")
    # By its second name: train-2 went on from the checkpoints of train.
    assert cluster.shunter(*run, "--resume", "train-2", "--detach").returncode == 0
    # It has reported nothing and saved nothing yet: what it goes on from is there all the same.
    assert "Checkpoint of step 2, saved" in cluster.shunter("describe", "train-4", "-n", namespace).stdout
    (listed,) = json.loads(
        cluster.shunter("jobs", "-n", namespace, "--state", "Running", "--state", "Created", "-o", "json").stdout
    )
    assert (listed["name"], listed["progress"]["checkpoint"]["step"]) == ("train-4", 2)
    two = cluster.shunter(*run, "--resume", "train")
    assert two.returncode == 2
    assert "two jobs would write the same checkpoints" in two.stderr
    assert cluster.shunter("delete", "train-4", "-n", namespace, "--now").returncode == 0


def test_what_a_dry_run_prints_is_the_job(cluster: Cluster, namespace: str, project: Path) -> None:
    run = ["run", str(project / "train.py"), "-n", namespace, "--snapshot", JAX, "--nodes", "2", "-e", "A=1", "--label", "team=a"]
    printed = cluster.shunter(*run, "--dry-run", "-o", "yaml", "--", "a b")
    assert printed.returncode == 0, printed.stderr
    assert jobs(cluster, namespace) == []
    as_json = json.loads(cluster.shunter(*run, "--dry-run", "-o", "json", "--", "a b").stdout)
    assert as_json["items"] == list(yaml.safe_load_all(printed.stdout))
    cluster.kubectl("apply", "-f", "-", stdin=printed.stdout)
    applied = cluster.get("trainjob", "train", "-n", namespace)
    assert cluster.shunter("delete", "train", "-n", namespace).returncode == 0
    assert not maps(cluster, namespace), "nobody owned it, so the deletion took it along"
    assert cluster.shunter(*run, "--detach", "--", "a b").returncode == 0
    created = cluster.get("trainjob", "train", "-n", namespace)
    assert comparable(created) == comparable(applied)
    assert created["metadata"]["labels"] == applied["metadata"]["labels"]


def comparable(job: Json) -> Json:
    spec = json.loads(json.dumps(job["spec"]))
    for patch in spec["runtimePatches"]:
        patch.pop("time", None)
    return {"spec": spec, "program": job["metadata"]["annotations"][PROGRAM]}


def too_large(project: Path) -> None:
    (project / "data.bin").write_bytes(random.Random(7).randbytes(7_500_000))


def link_out(project: Path) -> None:
    (project / "link.py").symlink_to("/etc/hostname")


def nothing(project: Path) -> None:
    """As it is."""


REFUSED: dict[str, tuple[Callable[[Path], None], list[str], str]] = {
    "too large": (too_large, ["train.py"], "more than 7.4 MB when packed. Largest: data.bin (7.5 MB)"),
    "a link out": (link_out, ["train.py"], "link.py is a link to /etc/hostname, outside the directory that is sent"),
    "no such script": (nothing, ["trian.py"], "trian.py: no such file.\n       Did you mean train.py?"),
    "not below the directory": (nothing, ["train.py", "--workdir", "pkg"], "train.py is not below --workdir pkg"),
    "no such runtime": (nothing, ["train.py", "--runtime", "jax-distribute"], "Did you mean jax-distributed?"),
    "a runtime of Flux": (nothing, ["train.py", "--runtime", "flux-distributed"], "--runtime flux-distributed"),
    "an image for MPI": (
        nothing,
        ["train.py", "--runtime", "deepspeed-distributed", "--image", "me/train:1"],
        "the other nodes of runtime deepspeed-distributed would keep theirs",
    ),
    "a claim that is missing": (
        nothing,
        ["train.py", "--checkpoints", "none"],
        "there is no PersistentVolumeClaim none",
    ),
    "a claim of one node": (
        nothing,
        ["train.py", "--checkpoints", "once", "--nodes", "2"],
        "is ReadWriteOnce, which 2 nodes",
    ),
    "a volume that is missing": (
        nothing,
        ["train.py", "--volume", "none:/d"],
        "--volume none: there is no Persistent",
    ),
    "a queue without Kueue": (nothing, ["train.py", "--queue", "lq"], "the cluster has no Kueue, so the job would not wait"),
    "a volume over the code": (nothing, ["train.py", "--volume", "once:/workspace/code"], "the code is mounted there"),
    "a secret in the job": (nothing, ["train.py", "-e", "HF_TOKEN=hf_x"], "add --env-from secret/SECRET:HF_TOKEN"),
    "a Secret that is missing": (nothing, ["train.py", "--env-from", "secret/none"], "there is no Secret none in namespace"),
    "a variable of the operator": (nothing, ["train.py", "-e", "PET_NNODES=3", "--runtime", "torch-distributed"], "PET_NNODES"),
    "words of the program without --": (nothing, ["train.py", "job.yaml"], "Arguments of the program come after --"),
    "two programs": (nothing, ["train.py", "pkg/words.py"], "train.py is a program, but pkg/words.py was also given"),
    "a script and a module": (nothing, ["train.py", "-m", "pkg"], "train.py is a program, but -m pkg was also given"),
    "options beside a manifest": (
        nothing,
        ["job.yaml", "--nodes", "2"],
        "applies to programs, and job.yaml is not a program",
    ),
    "a form without a dry run": (nothing, ["train.py", "-o", "yaml"], "-o yaml prints what --dry-run would create"),
    "replacing a name that is chosen": (nothing, ["train.py", "--replace"], "--replace needs --name"),
    "a job that is not there": (nothing, ["--rerun", "none"], "there is no job 'none' in namespace"),
}


@pytest.mark.long
def test_what_cannot_be_meant_is_refused_and_creates_nothing(cluster: Cluster, namespace: str, project: Path) -> None:
    once = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    cluster.apply(
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "once", "namespace": namespace}, "spec": once}
    )
    found = {}
    for about, (prepare, words, _) in REFUSED.items():
        prepare(project)
        where = [] if "job.yaml" in words[:1] else ["-n", namespace]
        done = subprocess.run(
            [*SHUNTER, "run", *words, *where, *(["--snapshot"] if words[0] == "train.py" else [])],
            env=cluster.environment,
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
        found[about] = (done.returncode, done.stderr)
        for name in ("data.bin", "link.py"):
            (project / name).unlink(missing_ok=True)
    for about, (_, _, message) in REFUSED.items():
        assert found[about][0] == 2, (about, found[about])
        assert message in found[about][1], (about, found[about])
    assert (maps(cluster, namespace), jobs(cluster, namespace)) == ([], [])


def packed(seed: int, *, pieces: int) -> PackedCode:
    noise = random.Random(seed).randbytes((pieces - 1) * PIECE_BYTES + 1000)
    return PackedCode(archive([Entry("data.bin", noise), Entry("train.py", b"print('trained')\n")]), 2)


async def test_as_many_writes_as_the_next_test_breaks_off(cluster: Cluster, namespace: str) -> None:
    client = connect(kubeconfig.load(cluster.kubeconfig))
    async with client:
        counting = FaultTransport(client.transport)
        options = LaunchOptions(program=Program(path="train.py"))
        runtime = Runtime("jax-distributed", "jax")
        await submit(client.through(counting), options, packed(1, pieces=2), runtime=runtime, namespace=namespace)
        assert counting.writes == WRITES


WRITES = 6
"""A dry run, two ConfigMaps, the job, and the owner of each ConfigMap."""


async def test_killed_after_any_write_the_next_run_or_a_deletion_leaves_nothing(cluster: Cluster, namespace: str) -> None:
    runtime = Runtime("jax-distributed", "jax")

    async def lead(writes: int, *, next_run: bool) -> None:
        client = connect(kubeconfig.load(cluster.kubeconfig))
        async with client:
            name = f"{'run' if next_run else 'delete'}-{writes}"
            options = LaunchOptions(program=Program(path=f"{name}.py"), nodes=1)
            dying = FaultTransport(client.transport)
            dying.kill_after(writes)
            code = packed(writes + 10 * next_run, pieces=2)
            with pytest.raises(Killed):
                await submit(client.through(dying), options, code, runtime=runtime, namespace=namespace)
            if next_run:
                another = packed(100 + writes, pieces=1)
                await submit(client, options, another, runtime=runtime, namespace=namespace)
                await every_map_has_its_owners(client, namespace, name)
            for job in (await client.list(TRAIN_JOBS, namespace)).items:
                if job["metadata"]["name"].startswith(name):
                    await delete_and_wait(client, TRAIN_JOBS, {"kind": "TrainJob", **job}, now=True, notify=print)
            await delete_leftovers(client, namespace, name, code.digest, notify=print)

    await asyncio.gather(*(lead(writes, next_run=next_run) for writes in range(1, WRITES + 1) for next_run in (True, False)))
    eventually(lambda: not maps(cluster, namespace))


async def test_a_rerun_killed_after_any_write_is_cleared_by_deleting_what_there_is(cluster: Cluster, namespace: str) -> None:
    """Of a job with code and a runtime of its own: the code is shared, a runtime is made for each."""

    def unowned() -> set[str]:
        found = [*maps(cluster, namespace), *cluster.get("trainingruntimes", "-n", namespace)["items"]]
        return {one["metadata"]["name"] for one in found if not one["metadata"].get("ownerReferences")}

    async with connect(kubeconfig.load(cluster.kubeconfig)) as client:
        runtime = await find_runtime(client, namespace, "jax-distributed")
        options = LaunchOptions(program=Program(path="train.py"), restarts=0)
        first = (await submit(client, options, packed(5, pieces=1), runtime=runtime, namespace=namespace)).job
        counting = FaultTransport(client.transport)
        await resubmit(client.through(counting), first)
        assert counting.writes > 4, "the job and its runtime, each also in a dry run, and their owners"
        for writes in range(1, counting.writes + 1):
            dying = FaultTransport(client.transport)
            dying.kill_after(writes)
            with pytest.raises(Killed):
                await resubmit(client.through(dying), first)
        last = (await resubmit(client, first)).job["metadata"]["name"]
        assert last not in unowned()
        for job in (await client.list(TRAIN_JOBS, namespace)).items:
            await delete_and_wait(client, TRAIN_JOBS, {"kind": "TrainJob", **job}, now=True, notify=print)
            await delete_leftovers(client, namespace, job["metadata"]["name"], notify=print)
    eventually(lambda: not maps(cluster, namespace) and not cluster.get("trainingruntimes", "-n", namespace)["items"])


CONTAINER = {"name": "pytorch", "image": "any:1", "command": ["true"]}
MANIFESTS: dict[str, tuple[str, str, str, Json]] = {
    "v1": (
        "pytorchjobs",
        "kubeflow.org/v1",
        "PyTorchJob",
        {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": {"spec": {"containers": [CONTAINER]}}}}},
    ),
    "v2": (
        "trainjobs",
        TRAIN_JOBS.api_version,
        "TrainJob",
        {"runtimeRef": {"name": "jax-distributed"}, "trainer": {"command": ["true"]}},
    ),
}


@pytest.mark.parametrize("generation", MANIFESTS)
async def test_a_run_of_manifests_killed_after_any_write_is_completed_by_the_next(
    cluster: Cluster, namespace: str, generation: str
) -> None:
    """Also one that replaces a job: what it tried out leaves nothing."""
    plural, api_version, kind, spec = MANIFESTS[generation]
    metadata = {"name": "job", "namespace": namespace}
    code = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata, "name": "code"}, "data": {"a": "1"}}
    text = "\n---\n".join(
        json.dumps(one) for one in ({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}, code)
    )

    async with connect(kubeconfig.load(cluster.kubeconfig)) as client:

        async def run(through: FaultTransport) -> None:
            target = Target(client.through(through), None, "")
            await apply_all(target, list(parse(text, "job.yaml")), replace=True, notify=print)

        def there() -> list[str]:
            return [one["metadata"]["name"] for one in cluster.get(plural, "-n", namespace)["items"]]

        await run(FaultTransport(client.transport))
        counting = FaultTransport(client.transport)
        await run(counting)
        assert counting.writes == 4, "the ConfigMap, the dry run of the job, the deletion of the present one, the job"
        for writes in range(1, counting.writes + 1):
            dying = FaultTransport(client.transport)
            dying.kill_after(writes)
            with pytest.raises(Killed):
                await run(dying)
            assert there() in (["job"], []), writes
            await run(FaultTransport(client.transport))
            assert there() == ["job"], writes
    found = cluster.get("configmaps", "-n", namespace)["items"]
    assert sum(one["metadata"]["name"] == "code" for one in found) == 1


async def every_map_has_its_owners(client: Client, namespace: str, name: str) -> None:
    """Each ConfigMap that was made for these jobs is owned by all of them that use it, and there is none that no job uses."""
    users: dict[str, set[str]] = {}
    for job in (await client.list(TRAIN_JOBS, namespace)).items:
        users.setdefault(job["metadata"]["labels"][CODE_LABEL], set()).add(job["metadata"]["name"])
    for found in (await client.list(CONFIG_MAPS, namespace, label_selector=f"shunter.dev/job in ({name},{name}-2)")).items:
        metadata = found["metadata"]
        owners = {owner["name"] for owner in metadata.get("ownerReferences") or ()}
        assert owners == users.get(metadata["labels"][CODE_LABEL]), metadata["name"]
        assert owners


async def test_code_that_went_with_another_job_in_the_meantime_is_sent_again(cluster: Cluster, namespace: str) -> None:
    client = connect(kubeconfig.load(cluster.kubeconfig))
    async with client:
        runtime, code = Runtime("jax-distributed", "jax"), packed(7, pieces=1)
        options = LaunchOptions(program=Program(path="train.py"))
        racing = FaultTransport(client.transport)

        async def other_job_goes() -> None:
            (found,) = (await client.list(CONFIG_MAPS, namespace, label_selector=CODE_LABEL)).items
            await client.delete(CONFIG_MAPS, found["metadata"]["name"], namespace)

        racing.before_write(4, other_job_goes)
        made = await submit(client.through(racing), options, code, runtime=runtime, namespace=namespace)
        assert (await followed(client, made.job, timeout=120)).succeeded
        (found,) = (await client.list(CONFIG_MAPS, namespace, label_selector=CODE_LABEL)).items
        assert [owner["name"] for owner in found["metadata"]["ownerReferences"]] == ["train"]
        with pytest.raises(InputError, match="was not created from a program"):
            await resubmit(client, {**made.job, "metadata": {**made.job["metadata"], "annotations": {}}})


def test_variables_of_a_secret_stay_in_it(cluster: Cluster, namespace: str, project: Path) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "hub", "namespace": namespace},
        "stringData": {"TOKEN": "s3cr3t"},
    }
    cluster.apply(secret)
    (project / "train.py").write_text("import os\nprint('token of', len(os.environ['TOKEN']), os.environ['MINE'])\n")
    run = ["run", str(project / "train.py"), "-n", namespace, JAX, "--env-from", "secret/hub", "-e", "MINE"]
    cluster.environment["MINE"] = "from my shell"
    try:
        done = cluster.shunter(*run)
    finally:
        del cluster.environment["MINE"]
    assert "token of 6 from my shell" in done.stdout, done.stderr
    assert "s3cr3t" not in json.dumps(cluster.get("trainjob", "train", "-n", namespace))
