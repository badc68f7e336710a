"""Random TrainJobs with their runtimes, and what happens to them: the same ones for the same seed.

Most are what users and platform engineers could write; about one of eight has a mistake that admission may refuse. Left out is
what differs on purpose anyway (docs/differences.md): Flux, patches of containers that are not there, another number of nodes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from player.case import Case, Step
from random_jobs.fields import some
from random_jobs.pods import ENVIRONMENT, EXIT_CODES, RESOURCES, containers, pod_metadata, pod_settings
from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.api.trainer.runtime import ANCESTOR_LABEL, ANCESTOR_TRAINER, DATASET_INITIALIZER, LAUNCHER, MODEL_INITIALIZER, NODE

NAME = "job"
STEPS = (2, 5)
MISTAKES = 0.12
POLICIES = ("torch", "mpi", "jax", "xgboost", "plain", "none")

Mistake = Callable[[random.Random, Json, Json], None]


def cases(seed: int, count: int) -> Iterator[Case]:
    """So many cases; each depends on the seed and its number alone."""
    for number in range(count):
        rng = random.Random(f"v2 {seed} {number}")
        yield case(rng, f"v2-{seed}-{number}")


def case(rng: random.Random, name: str) -> Case:
    """A runtime and a job of it, and some things that happen to them."""
    policy = rng.choice(POLICIES)
    # Runtimes of the whole cluster carry the name of the case, so that cases don't meet.
    resource = rng.choice([TRAINING_RUNTIMES, TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES])
    template = runtime(rng, policy)
    template |= {"kind": resource.kind, "metadata": {"name": "runtime" if resource.namespaced else name, **template["metadata"]}}
    created = train_job(rng, template)
    if rng.random() < MISTAKES:
        rng.choice(MISTAKES_OF_JOBS)(rng, created, template)
    steps = [Step("apply", [template], {}), Step("apply", [created], {})]
    steps += [change(rng, created, template) for _ in range(rng.randint(*STEPS))]
    return Case(name, f"a random TrainJob of a runtime with policy {policy}", tuple(steps))


def runtime(rng: random.Random, policy: str) -> Json:
    """A runtime that a platform engineer could write; without kind and name."""
    jobs = []
    if rng.random() < 0.2:
        jobs += [
            replicated_job(rng, one, one)
            for one in rng.choice([(DATASET_INITIALIZER,), (DATASET_INITIALIZER, MODEL_INITIALIZER)])
        ]
    runs_launcher = policy == "mpi" and rng.random() < 0.5
    if policy == "mpi":
        jobs.append(replicated_job(rng, LAUNCHER, ANCESTOR_TRAINER if runs_launcher else None, NODE))
    name = NODE if rng.random() < 0.9 else "trainer"
    jobs.append(replicated_job(rng, name, ANCESTOR_TRAINER, NODE))
    if rng.random() < 0.15:
        jobs.append(replicated_job(rng, "evaluator", None, "evaluate"))
    depends_on = [one["name"] for one in jobs[:-1]]
    if depends_on and rng.random() < 0.3:
        jobs[-1]["dependsOn"] = [{"name": depends_on[0], "status": rng.choice(["Complete", "Ready"])}]
    template: Json = {"spec": {"replicatedJobs": jobs, **job_set_settings(rng)}}
    if rng.random() < 0.15:
        template["metadata"] = some(rng, {"labels": {"from": "runtime"}, "annotations": {"from": "runtime"}}, 0.7)
    spec: Json = {"template": template}
    if policy != "none" or rng.random() < 0.5:
        spec["mlPolicy"] = some(rng, {"numNodes": rng.choice([1, 2, 3])}, 0.6)
    if policy not in ("plain", "none"):
        spec["mlPolicy"][policy] = policy_settings(rng, policy, runs_launcher)
    if rng.random() < 0.12:
        spec["podGroupPolicy"] = rng.choice(
            [
                {"coscheduling": {}},
                {"coscheduling": {"scheduleTimeoutSeconds": 30}},
                {"volcano": {}},
                {"volcano": {"networkTopology": {"mode": "soft", "highestTierAllowed": 2}}},
            ]
        )
    metadata = some(rng, {"labels": {"trainer.kubeflow.org/framework": policy}, "annotations": {"note": "x"}}, 0.15)
    return {"apiVersion": TRAINING_RUNTIMES.api_version, "metadata": metadata, "spec": spec}


def policy_settings(rng: random.Random, policy: str, runs_launcher: bool) -> Json:
    """The settings of an ML policy."""
    match policy:
        case "mpi":
            settings = {"numProcPerNode": rng.choice([1, 2, 4]), "sshAuthMountPath": "/ssh", "mpiImplementation": "OpenMPI"}
            return some(rng, settings, 0.4) | ({"runLauncherAsNode": True} if runs_launcher else {})
        case _:
            return {}


def replicated_job(rng: random.Random, name: str, ancestor: str | None, container: str = "") -> Json:
    """One job of a runtime's template."""
    pod: Json = {"spec": {**pod_settings(rng), **containers(rng, container or name, None)}}
    pod["spec"].pop("restartPolicy", None)
    if rng.random() < 0.3:
        pod["spec"]["restartPolicy"] = rng.choice(["Never", "OnFailure"])
    if metadata := pod_metadata(rng):
        pod["metadata"] = metadata
    spec: Json = {"template": pod} | some(
        rng,
        {
            "backoffLimit": rng.choice([0, 1, 3]),
            "completionMode": "Indexed",
            "activeDeadlineSeconds": 3600,
            "parallelism": 1,
            "completions": 1,
            "podReplacementPolicy": "Failed",
        },
        0.12,
    )
    template: Json = {"spec": spec}
    if ancestor and rng.random() < 0.9:
        template["metadata"] = {"labels": {ANCESTOR_LABEL: ancestor}}
    job: Json = {"name": name, "template": template}
    return job | some(rng, {"replicas": 1, "groupName": "group"}, 0.1)


def job_set_settings(rng: random.Random) -> Json:
    """What a JobSet has beside its replicated jobs."""
    return some(
        rng,
        {
            "failurePolicy": {"maxRestarts": rng.choice([0, 1, 2])} | some(rng, {"restartStrategy": "BlockingRecreate"}, 0.3),
            "successPolicy": {"operator": rng.choice(["All", "Any"]), "targetReplicatedJobs": [NODE]},
            "network": some(rng, {"enableDNSHostnames": True, "subdomain": "sub", "publishNotReadyAddresses": True}, 0.5),
            "ttlSecondsAfterFinished": rng.choice([0, 3600]),
            "suspend": False,
        },
        0.12,
    )


def train_job(rng: random.Random, runtime: Json) -> Json:
    """A job of this runtime."""
    reference = {"name": runtime["metadata"]["name"]}
    if runtime["kind"] == TRAINING_RUNTIMES.kind or rng.random() < 0.5:
        reference |= {"kind": runtime["kind"], "apiGroup": TRAIN_JOBS.group}
    trainer = some(
        rng,
        {
            "image": "img:job",
            "command": ["torchrun", "train.py"],
            "args": ["--lr", "0.1"],
            "env": rng.sample(ENVIRONMENT, rng.randint(1, 3)),
            "numNodes": rng.choice([1, 2, 3]),
            "numProcPerNode": rng.choice([1, 2, 4]),
            "resourcesPerNode": rng.choice(RESOURCES),
        },
        0.3,
    )
    spec: Json = {"runtimeRef": reference} | some(
        rng,
        {
            "suspend": rng.random() < 0.6,
            "activeDeadlineSeconds": rng.choice([4, 3600]),
            "managedBy": rng.choice(["trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue"]),
        },
        0.12,
    )
    if trainer:
        spec["trainer"] = trainer
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    names = [one["name"] for one in jobs]
    if DATASET_INITIALIZER in names and rng.random() < 0.7:
        source = {"storageUri": "hf://data/set"} | some(rng, {"env": [ENVIRONMENT[0]], "secretRef": {"name": "token"}}, 0.4)
        spec["initializer"] = {"dataset": source}
        if MODEL_INITIALIZER in names and rng.random() < 0.5:
            spec["initializer"]["model"] = {"storageUri": "hf://a/model"}
    if rng.random() < 0.3:
        managers = rng.sample(["kueue.x-k8s.io/manager", "example.org/b", "example.org/a"], rng.choice([1, 1, 2]))
        spec["runtimePatches"] = [runtime_patch(rng, manager, jobs) for manager in managers]
    metadata = {"name": NAME, **some(rng, {"labels": {"team": "a"}, "annotations": {"note": "x"}}, 0.15)}
    return {"apiVersion": TRAIN_JOBS.api_version, "kind": TRAIN_JOBS.kind, "metadata": metadata, "spec": spec}


def runtime_patch(rng: random.Random, manager: str, jobs: list[Json]) -> Json:
    """What one manager changes of one of the runtime's jobs."""
    patched = rng.choice(jobs)
    template_spec = patched["template"]["spec"]["template"]["spec"]
    pod = some(
        rng,
        {
            "nodeSelector": {"pool": rng.choice(["a", "b"])},
            "tolerations": [{"key": rng.choice(["a", "b"]), "operator": "Exists"}],
            "serviceAccountName": rng.choice(["a", "b"]),
            "volumes": [{"name": "more", "emptyDir": {}}],
            "containers": [container_patch(rng, template_spec["containers"][0]["name"])],
            "imagePullSecrets": [{"name": "another"}],
            "securityContext": {"runAsUser": 1},
            "schedulingGates": [{"name": "example.org/gate"}],
            "terminationGracePeriodSeconds": 7,
            "affinity": {"nodeAffinity": {}},
        },
        0.3,
    )
    if "initContainers" in template_spec and rng.random() < 0.3:
        pod["initContainers"] = [container_patch(rng, template_spec["initContainers"][0]["name"])]
    job: Json = {"template": {"spec": pod}}
    if rng.random() < 0.25:
        job["template"]["metadata"] = some(rng, {"labels": {"patched": "pod"}, "annotations": {"patched": "pod"}}, 0.7)
    of_job: Json = {"spec": job}
    if rng.random() < 0.2:
        of_job["metadata"] = some(rng, {"labels": {"patched": "job"}, "annotations": {"patched": "job"}}, 0.7)
    template: Json = {"spec": {"replicatedJobs": [{"name": patched["name"], "template": of_job}]}}
    if rng.random() < 0.2:
        template["metadata"] = some(rng, {"labels": {"patched": "set"}, "annotations": {"patched": "set"}}, 0.7)
    return {"manager": manager, "trainingRuntimeSpec": {"template": template}}


def container_patch(rng: random.Random, name: str) -> Json:
    """What a patch changes of a container."""
    return {"name": name} | some(
        rng,
        {
            "env": rng.sample(ENVIRONMENT, 2),
            "volumeMounts": [{"name": rng.choice(["more", "scratch"]), "mountPath": "/more"}],
            "securityContext": {"runAsNonRoot": True},
        },
        0.5,
    )


def change(rng: random.Random, created: Json, runtime: Json) -> Step:
    """One thing that happens: mostly states of pods."""
    names = [one["name"] for one in runtime["spec"]["template"]["spec"]["replicatedJobs"]]
    name = rng.choice(names)
    some_pods = rng.choice(["*", f"{NAME}-{name}-*", f"{NAME}-{name}-0-0-*", f"{NAME}-{name}-0-1-*"])
    what = {"kind": TRAIN_JOBS.kind, "name": NAME}
    match rng.choices(["running", "ended", "patch", "lost", "deleted", "wait"], [4, 6, 3, 1, 0.5, 1])[0]:
        case "running":
            return Step("pods", {"match": rng.choice(["*", some_pods]), "phase": "Running"}, {})
        case "ended":
            ended: Json = {"match": some_pods, "phase": rng.choice(["Succeeded", "Succeeded", "Failed"])}
            if ended["phase"] == "Failed":
                ended["exitCode"] = rng.choice(EXIT_CODES)
            return Step("pods", ended, {})
        case "patch":
            return Step("patch", {**what, "merge": patch(rng)}, {})
        case "lost":
            lost = rng.choice(["JobSet", "ConfigMap", "Secret"])
            return Step("delete", {"kind": lost, "name": {"JobSet": NAME, "Secret": f"{NAME}-*"}.get(lost, f"{NAME}-*")}, {})
        case "deleted":
            return Step("delete", {**what, "propagation": rng.choice(["Background", "Foreground", "Orphan"])}, {})
        case _:
            return Step("wait", 3, {})


def patch(rng: random.Random) -> Json:
    """A change of the job by its user."""
    changes: list[Json] = [
        {"spec": {"suspend": True}},
        {"spec": {"suspend": False}},
        {"spec": {"trainer": {"image": "img:other"}}},
        {"spec": {"activeDeadlineSeconds": 5}},
        {"metadata": {"labels": {"team": "b"}}},
    ]
    return rng.choice(changes)


def _name_no_runtime(rng: random.Random, created: Json, runtime: Json) -> None:
    created["spec"]["runtimeRef"]["name"] = "missing"


def _set_name(rng: random.Random, created: Json, runtime: Json) -> None:
    created["metadata"]["name"] = rng.choice(["Job", "job.x", "1job", "j" * 60, "j" * 64, "job_x"])


def _set_nodes(rng: random.Random, created: Json, runtime: Json) -> None:
    created["spec"].setdefault("trainer", {})[rng.choice(["numNodes", "numProcPerNode"])] = rng.choice([0, -1])


def _add_initializer(rng: random.Random, created: Json, runtime: Json) -> None:
    created["spec"]["initializer"] = {rng.choice(["dataset", "model"]): {"storageUri": rng.choice(["hf://x/y", "no-uri", ""])}}


def _patch_what_is_not_there(rng: random.Random, created: Json, runtime: Json) -> None:
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    patch = runtime_patch(rng, "example.org/c", [{**jobs[0], "name": "missing"}])
    created["spec"].setdefault("runtimePatches", []).append(patch)


def _patch_twice(rng: random.Random, created: Json, runtime: Json) -> None:
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    created["spec"]["runtimePatches"] = [runtime_patch(rng, "example.org/a", jobs) for _ in range(2)]


def _set_replicas(rng: random.Random, created: Json, runtime: Json) -> None:
    runtime["spec"]["template"]["spec"]["replicatedJobs"][-1]["replicas"] = 2


def _two_policies(rng: random.Random, created: Json, runtime: Json) -> None:
    runtime["spec"].setdefault("mlPolicy", {}).update(jax={}, torch={})


def _rename_container(rng: random.Random, created: Json, runtime: Json) -> None:
    job = runtime["spec"]["template"]["spec"]["replicatedJobs"][-1]
    job["template"]["spec"]["template"]["spec"]["containers"][0]["name"] = "main"


def _set_policy_processes(rng: random.Random, created: Json, runtime: Json) -> None:
    created["spec"].setdefault("trainer", {})["numProcPerNode"] = 3
    runtime["spec"].setdefault("mlPolicy", {"numNodes": 1})["numNodes"] = rng.choice([0, -1])


MISTAKES_OF_JOBS: tuple[Mistake, ...] = (
    _name_no_runtime,
    _set_name,
    _set_nodes,
    _add_initializer,
    _patch_what_is_not_there,
    _patch_twice,
    _set_replicas,
    _two_policies,
    _rename_container,
    _set_policy_processes,
)
