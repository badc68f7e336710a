"""The objects of a job: the ConfigMaps that hold its code, a runtime of its own, if it needs them, and the TrainJob. Pure."""

from __future__ import annotations

import base64
import shlex

from shunter.api.core import variables_of
from shunter.api.meta import Json, annotations_of
from shunter.api.program_start import ProgramStart
from shunter.api.resources import CONFIG_MAPS, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.api.scheduling.pod_requests import GPU
from shunter.api.trainer.runtime import HOST_FILE, HOST_FILE_DIRECTORY, LAUNCHER, NODE
from shunter.argument_types import typed
from shunter.cluster.node.content.expansion import literal
from shunter.launch.annotations import CODE_LABEL, COMMIT, DIGEST, DIRECTORY, DIRTY, FABRIC, JOB_LABEL, PROGRAM, RESUMED, SHORT
from shunter.launch.code.delivery import Code, ImageCode, MountedCode, PackedCode, StoredCode
from shunter.launch.copied_job import copied_job
from shunter.launch.fabric_objects import with_fabric, with_sidecars
from shunter.launch.mounts import (
    CHECKPOINTS_PATH,
    CODE_PATH,
    PACKED_PATH,
    checkpoint_volumes,
    claim_volumes,
    code_volumes,
    map_name,
    require_free_paths,
)
from shunter.launch.options import Checkpoints, LaunchOptions
from shunter.launch.runtimes.choice import (
    MPIRUN,
    PYTHON,
    RANK_VARIABLES,
    TORCHRUN,
    Runtime,
    is_rank_by_itself,
    require_startable,
    start_command,
)
from shunter.launch.runtimes.copies import job_runtime, with_restarts
from shunter.launch.tracking import renamed, variables

MANAGER = "shunter.dev/run"
"""Whose patch of the runtime it is."""
_MARKS = (PROGRAM, CODE_LABEL, DIGEST, DIRECTORY, COMMIT, DIRTY, FABRIC)
"""Of a job: those that are true of a rerun as well."""
CHECKPOINT_VARIABLE = "SHUNTER_CHECKPOINT_DIR"
MUST_RESUME_VARIABLE = "SHUNTER_MUST_RESUME"
"""`true` tells a program that there is a checkpoint: one that finds none must fail, and not train from the beginning."""
SHUTDOWN_VARIABLE = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
TORCHRUN_SECONDS = 20
"""How much earlier than the kubelet torchrun kills its processes, so that it can still report what happened."""
_UNPACK = """\
import glob, hashlib, io, sys, tarfile
packed = b"".join(open(piece, "rb").read() for piece in sorted(glob.glob("{packed}/code.*")))
if hashlib.sha256(packed).hexdigest() != "{digest}":
    sys.exit("the code in {packed} is not what was sent: its sha256 differs")
tarfile.open(fileobj=io.BytesIO(packed)).extractall("{code}", filter="data")
"""


_MPIRUN = (MPIRUN, "--allow-run-as-root", "--hostfile", f"{HOST_FILE_DIRECTORY}/{HOST_FILE}")
"""Open MPI 5 does not read the variable that names the file of hosts."""


@typed
def launch(options: LaunchOptions, code: Code, runtime: Runtime, *, name: str, namespace: str) -> list[Json]:
    """The ConfigMaps, if the code is packed, the job's own TrainingRuntime, if it needs one, and then the TrainJob, as `kubectl
    apply` takes them. InputError for a runtime that cannot start the program, and for volumes at paths that others have."""
    require_startable(runtime, options.named(name))
    require_free_paths(options, code, runtime)
    objects = config_maps(code, name, namespace) if isinstance(code, PackedCode) else []
    job = train_job(options, code, runtime, name=name, namespace=namespace)
    if (own := own_runtime(options, runtime, name=name, namespace=namespace)) is not None:
        objects.append(own)
        job["spec"]["runtimeRef"] |= {"name": name, "kind": TRAINING_RUNTIMES.kind}
    return [*objects, job]


def own_runtime(options: LaunchOptions, runtime: Runtime, *, name: str, namespace: str) -> Json | None:
    """The TrainingRuntime that a job needs for what a TrainJob cannot say; None where it can say all."""
    sidecars = options.fabric.profile.sidecars if options.fabric else ()
    if options.restarts is None and not sidecars:
        return None
    own = job_runtime(runtime.object, job=name, namespace=namespace)
    if options.restarts is not None:
        own = with_restarts(own, options.restarts)
    return with_sidecars(own, options.fabric) if options.fabric else own


def config_maps(code: PackedCode, name: str, namespace: str) -> list[Json]:
    """One for each piece of the archive. Their names come from its digest, so that an unchanged tree is not sent again."""
    return [
        {
            "apiVersion": CONFIG_MAPS.api_version,
            "kind": CONFIG_MAPS.kind,
            "metadata": {
                "name": map_name(code.digest, number),
                "namespace": namespace,
                "labels": {JOB_LABEL: name, CODE_LABEL: code.digest[:SHORT]},
                "annotations": {DIGEST: code.digest},
            },
            "immutable": True,
            "binaryData": {f"code.{number:03}": base64.b64encode(piece).decode()},
        }
        for number, piece in enumerate(code.pieces)
    ]


def train_job(options: LaunchOptions, code: Code, runtime: Runtime, *, name: str, namespace: str) -> Json:
    """The TrainJob alone, of the runtime that was chosen."""
    labels = dict(options.labels)
    if options.queue:
        labels[QUEUE_LABEL] = options.queue
    if isinstance(code, PackedCode):
        labels[CODE_LABEL] = code.digest[:SHORT]
    metadata = {"name": name, "namespace": namespace, "labels": labels, "annotations": _annotations(options, code)}
    spec: Json = {
        "runtimeRef": runtime.reference,
        "trainer": _trainer(options, code, runtime, name, namespace),
    }
    if patch := _pod_patch(options, code):
        pods = [{"name": part, "template": {"spec": {"template": {"spec": patch}}}} for part in _parts(runtime)]
        spec["runtimePatches"] = [{"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": pods}}}}]
    if options.deadline_seconds is not None:
        spec["activeDeadlineSeconds"] = options.deadline_seconds
    if not labels:
        del metadata["labels"]
    job = TRAIN_JOBS.typed({"metadata": metadata, "spec": spec})
    return with_fabric(job, options.fabric) if options.fabric else job


def rerun_job(job: Json, name: str, *, job_id: str, has_own_runtime: bool = False) -> Json:
    """A job of another name that does what this one, made by `launch`, does: same program, options and code. Its checkpoints are
    its own, so is its run of MLflow, by this id, and its runtime if this one's is. All else is as `copied_job` has it."""
    metadata, annotations = job["metadata"], annotations_of(job)
    again = copied_job(job, name, marks=_MARKS)
    spec = again["spec"]
    if has_own_runtime:
        spec["runtimeRef"]["name"] = name
    if "env" in spec["trainer"]:
        spec["trainer"]["env"] = [one for one in spec["trainer"]["env"] if one["name"] != MUST_RESUME_VARIABLE]
    place, _, own = checkpoint_path(job).rpartition("/")
    for variable in spec["trainer"].get("env") or ():
        if variable["name"] == CHECKPOINT_VARIABLE and own == annotations.get(RESUMED, metadata["name"]):
            variable["value"] = f"{place}/{name}"
    if environment := spec["trainer"].get("env"):
        namespace = metadata["namespace"]
        earlier, later = f"{namespace}/{metadata['name']}", f"{namespace}/{name}"
        spec["trainer"]["env"] = renamed(environment, earlier, later, job_id=job_id)
    return again


def stored_code(job: Json) -> StoredCode | None:
    """The packed code of a job that was made by `launch`; None for one that has none."""
    digest = annotations_of(job).get(DIGEST, "")
    if not digest:
        return None
    volumes = [volume for pods in _patched_pods(job) for volume in pods.get("volumes", ())]
    count = sum(len(volume["projected"]["sources"]) for volume in volumes if volume.get("name") == "packed-code")
    return StoredCode(digest, count)


def checkpoint_volume(job: Json) -> Json:
    """The volume of such a job's pods for checkpoints, with the `subPath` of its mount; empty for a job without one."""
    for pods in _patched_pods(job):
        mounts = [mount for container in pods.get("containers", ()) for mount in container.get("volumeMounts", ())]
        for volume in pods.get("volumes", ()):
            if volume["name"] == "checkpoints":
                inside = next((mount.get("subPath", "") for mount in mounts if mount["name"] == "checkpoints"), "")
                return {**volume, "subPath": inside}
    return {}


def checkpoint_path(job: Json) -> str:
    """The directory or URL that a job's variable names, in the form of `destinations.read_place`: without a slash at its end, the
    scheme in lower case. Empty for a job without one."""
    path = variables_of(job["spec"].get("trainer") or {}).get(CHECKPOINT_VARIABLE, "")
    scheme, mark, rest = path.rstrip("/").partition("://")
    return f"{scheme.lower()}{mark}{rest}" if mark else path.rstrip("/")


def checkpoints_of(job: Json) -> Checkpoints | None:
    """The place below which a job, made by `launch`, keeps its checkpoints; None where it does not say so itself."""
    metadata = job["metadata"]
    place, _, name = checkpoint_path(job).rpartition("/")
    if name != annotations_of(job).get(RESUMED, metadata["name"]):
        return None
    if "://" in place:
        return Checkpoints(url=place)
    if place != CHECKPOINTS_PATH:
        return None
    volume = checkpoint_volume(job)
    if "hostPath" in volume:
        return Checkpoints(directory=volume["hostPath"]["path"])
    if "persistentVolumeClaim" in volume:
        return Checkpoints(claim=volume["persistentVolumeClaim"]["claimName"], inside=volume["subPath"])
    return None


def _patched_pods(job: Json) -> list[Json]:
    """The pod specs in a job's patches of its runtime."""
    found = []
    for patch in job["spec"].get("runtimePatches") or ():
        jobs = patch.get("trainingRuntimeSpec", {}).get("template", {}).get("spec", {}).get("replicatedJobs", ())
        # Anybody may have written it.
        found += [job.get("template", {}).get("spec", {}).get("template", {}).get("spec", {}) for job in jobs]
    return found


def _annotations(options: LaunchOptions, code: Code) -> Json:
    found = {PROGRAM: options.program.title}
    if options.resume:
        found[RESUMED] = options.resume
    if isinstance(code, MountedCode):
        found[DIRECTORY] = code.directory
    if isinstance(code, PackedCode):
        found[DIGEST] = code.digest
        if code.commit:
            found |= {COMMIT: code.commit, DIRTY: str(code.is_dirty).lower()}
    return found


def _trainer(options: LaunchOptions, code: Code, runtime: Runtime, name: str, namespace: str) -> Json:
    program = options.program
    environment = _environment(options, runtime, name, namespace)
    trainer: Json = {
        "numNodes": options.nodes,
        # The words of the program are arguments of the shell, so that no character of them means anything to it.
        "command": ["sh", "-c", _shell_text(options, code, runtime, environment), program.path or program.module],
        "args": [literal(argument) for argument in program.arguments],
        "env": environment,
    }
    if options.image:
        trainer["image"] = options.image
    if runtime.launcher != PYTHON:
        trainer["numProcPerNode"] = options.processes
    if amounts := resources(options):
        trainer["resourcesPerNode"] = amounts
    return trainer


def _shell_text(options: LaunchOptions, code: Code, runtime: Runtime, environment: list[Json]) -> str:
    starts_over_ssh = runtime.launcher == MPIRUN
    steps, command = [], start_command(runtime, options)
    if options.checkpoints is not None and not options.checkpoints.url:
        steps.append(f'mkdir -p "${CHECKPOINT_VARIABLE}"')
    if isinstance(code, PackedCode):
        program = _UNPACK.format(packed=PACKED_PATH, code=CODE_PATH, digest=code.digest)
        unpack = [PYTHON, "-c", program]
        steps.append(shlex.join([*_MPIRUN, "--map-by", "ppr:1:node", *unpack] if starts_over_ssh else unpack))
    if not isinstance(code, ImageCode):
        steps.append(f"cd {CODE_PATH}")
    if starts_over_ssh:
        # A process that is started over SSH has nothing of its pod's environment.
        names = [word for variable in environment for word in ("-x", variable["name"])]
        place = [] if isinstance(code, ImageCode) else ["--wdir", CODE_PATH]
        command = [*_MPIRUN, *names, *place, "-n", str(options.nodes * options.processes), *command]
    variables = RANK_VARIABLES if is_rank_by_itself(runtime, options) else {}
    return ProgramStart(" && ".join(steps) or ":", variables, tuple(command)).text


def _parts(runtime: Runtime) -> tuple[str, ...]:
    """The replicated jobs whose pods run the program."""
    return (NODE, LAUNCHER) if runtime.launcher == MPIRUN else (NODE,)


def _environment(options: LaunchOptions, runtime: Runtime, name: str, namespace: str) -> list[Json]:
    """The user's variables win over ours."""
    ours = {"PYTHONUNBUFFERED": "1"}
    if options.checkpoints is not None:
        ours[CHECKPOINT_VARIABLE] = f"{options.checkpoints.url or CHECKPOINTS_PATH}/{options.resume or name}"
    if options.resume:
        ours[MUST_RESUME_VARIABLE] = "true"
    if options.grace is not None and runtime.launcher == TORCHRUN:
        ours[SHUTDOWN_VARIABLE] = str(shutdown_seconds(options.grace))
    if options.tracking is not None:
        ours |= variables(options.tracking, namespace, name)
    given = {variable["name"] for variable in options.environment}
    return [*({"name": key, "value": value} for key, value in ours.items() if key not in given), *options.environment]


def shutdown_seconds(grace: int) -> int:
    """How many seconds torchrun waits for its processes after SIGTERM, for a grace period of the pod in seconds."""
    return max(grace - TORCHRUN_SECONDS, grace // 2)


def resources(options: LaunchOptions) -> Json:
    """What each training node requests, and its limits."""
    requests, limits = {}, {}
    if options.cpus:
        requests["cpu"] = options.cpus
    if options.memory:
        requests["memory"] = limits["memory"] = options.memory
    if options.gpus:
        limits[GPU] = str(options.gpus)
    return {key: value for key, value in (("requests", requests), ("limits", limits)) if value}


def _pod_patch(options: LaunchOptions, code: Code) -> Json:
    """What the runtime's pods get in addition: volumes, their mounts, the grace period."""
    pairs = [*code_volumes(code), *checkpoint_volumes(options.checkpoints), *claim_volumes(options.volumes)]
    patch: Json = {}
    if options.grace is not None:
        patch["terminationGracePeriodSeconds"] = options.grace
    if pairs:
        patch["volumes"] = [volume for volume, _ in pairs]
        mounts = [{"name": volume["name"], **mount} for volume, mount in pairs]
        patch["containers"] = [{"name": NODE, "volumeMounts": mounts}]
    return patch
