"""What the rules about API evidence and logs say of small cases, and of near misses, of which they must say something else.

Each case: the evidence, and the ids of the verdicts in their order. A near miss stands below what it must not be taken for.
"""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.evidences import ended, failed, log, pod, runs, seen, traceback
from job_evidence import ago, event, unplaced, v1_job, waiting
from network_policy_cases import MASTER_ADDRESS, PORT, PORT_NAME, WORKER_ADDRESS, ingress
from shunter.doctor.evidence import Evidence, Log

Json = dict[str, Any]

CLAIM = 'persistentvolumeclaim "weights" not found'
GPU = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
RESET = "RuntimeError: [/pytorch/gloo/transport/tcp/pair.cc:553] Connection reset by peer [10.1.0.4]:5120"
MISMATCH = (
    "RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint("
    "SequenceNumber=4, OpType=BROADCAST, TensorShape=[8], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float)), but "
    "Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=4, OpType=ALLREDUCE, TensorShape=[8], TensorDtypes=Float)"
)
SIZES = "RuntimeError: [enforce fail at /pytorch/gloo/transport/tcp/pair.cc:451] op.preamble.length <= op.nbytes. 8 vs 4"
CUDA = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 79.1 GiB in all of which 1.2 GiB "
    "is free. Of the allocated memory 70.1 GiB is allocated by PyTorch, and 6.3 GiB is reserved by PyTorch but unallocated."
)
UNKNOWN = "socket.gaierror: [Errno -3] Temporary failure in name resolution"
RETRY = (
    "[W1125 20:00:00.123 socket.cpp:767] [c10d] The IPv6 network addresses of (h, 1) cannot be retrieved "
    "(gai error: -3 - Temporary failure in name resolution)."
)
LATER = f"{RETRY}\n{traceback('ValueError: no data')}"
JOINED = "torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. {}/3 clients joined."
KEYS = "torch.distributed.DistStoreError: wait timeout after 8000ms, keys: /default_pg/0//cpu//0/{}"
CLIENT = "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect to ({}, {})."
DENIED = "PermissionError: [Errno 13] Permission denied"
SAVE_DENIED = "RuntimeError: [enforce fail at inline_container.cc:746] . open file failed with strerror: Permission denied"
SPAWN = f'Traceback (most recent call last):\n  File "/usr/lib/python3.11/subprocess.py", line 9, in _execute_child\n{DENIED}: '
NO_SHARED_MEMORY = "RuntimeError: unable to write to file </torch_1234_4711_0>: No space left on device (28)"
CUT_OFF = "RuntimeError: [enforce fail at inline_container.cc:671] . unexpected pos 704 vs 598"
FULL = "OSError: [Errno 28] No space left on device: '/data/ckpt/7.pt'"
CENTRAL = "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"
BARRIER = "RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 5000 ms"
GLOO = "RuntimeError: [/pytorch/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 10000ms for recv operation to complete"
NAN = ("step 1 loss 0.5", "step 2 loss nan", "step 3 loss nan")
MASTER = {"env": [{"name": "MASTER_ADDR", "value": "j-master-0"}, {"name": "MASTER_PORT", "value": "23456"}]}
MOUNTED = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
OF_CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "weights"}}]}
SHM = {"volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]}
ASKS = {"resources": {"requests": {"nvidia.com/gpu": "8"}}}


def all_end(*said: str, code: int = 1, **more: Any) -> Evidence:
    """All ranks end together, each with its last lines."""
    logs = tuple(log(rank, text) for rank, text in enumerate(said) if text)
    return failed(*(pod(rank, **ended(code)) for rank in range(3)), logs=logs, **more)


def node(name: str = "node-1", **allocatable: str) -> Json:
    ready = {"type": "Ready", "status": "True"}
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": "8", **allocatable}, "conditions": [ready]}}


def unscheduled(message: str, **more: Any) -> Json:
    parts = unplaced(message)
    spec = parts.pop("spec")
    return pod(0, spec={**spec, **more.pop("spec", {})}, **parts, **more)


def loops(**more: Any) -> Json:
    last = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": ago(15)}}
    return {**waiting("CrashLoopBackOff", restartCount=3, lastState=last), "phase": "Running", **more}


def kept_apart(*specs: Json, spec: Json | None = None, addresses: tuple[str, str] = (MASTER_ADDRESS, WORKER_ADDRESS)) -> Evidence:
    """A worker that cannot connect to its master, where there are NetworkPolicies of these specs."""
    ports = {"ports": [{"name": PORT_NAME, "containerPort": PORT, "protocol": "TCP"}]}
    return failed(
        pod(0, container=ports, spec=spec or {}, podIP=addresses[0], **ended(1)),
        pod(1, container=MASTER, spec=spec or {}, podIP=addresses[1], **ended(1)),
        logs=(log(1, traceback(CLIENT.format("j-master-0", PORT))),),
        policies=tuple({"metadata": {"name": "closed", "namespace": "n"}, "spec": one} for one in specs),
    )


def suspended() -> Json:
    return v1_job(2, policy={"suspend": True}, conditions=[{"type": "Suspended", "status": "True"}])


def preempted() -> Evidence:
    gone = event("u-old", "Preempted", "Preempted by pod 4711 on node node-1")
    gone["involvedObject"] |= {"kind": "Pod", "name": "j-worker-1"}
    return seen(pod(0, **runs()), pod(1, **runs()), events=[gone])


def initializes(age: float, *, name: str = "fetch", **container: Any) -> Json:
    """The parts of a pod whose init container has run for so many seconds."""
    status = {"name": name, "state": {"running": {"startedAt": ago(age)}}}
    spec = {"initContainers": [{"name": name, "image": "any:1", **container}]}
    return {"spec": spec, "phase": "Pending", "initContainerStatuses": [status], "containerStatuses": []}


def beside(name: str, code: int, *, at: float, policy: str = "Never") -> Json:
    """The parts of a pod whose training ended so many seconds ago, while its container of this name runs."""
    (trained,) = ended(code, at=at)["containerStatuses"]
    proxy = {"name": name, "state": {"running": {"startedAt": ago(400)}}}
    return {"spec": {"restartPolicy": policy}, "phase": "Running", "containerStatuses": [trained, proxy]}


def killed_by_probe(code: int = 137, *, why: str = "Error", uid: str = "u-j-worker-0", at: float = 31, **more: Any) -> Evidence:
    """A rank that ended 30 seconds ago, and events of its pod's name, by default of when it ended."""
    killing = probe_event("Killing", "Container pytorch failed liveness probe, will be restarted", uid=uid, at=at)
    probed = {"livenessProbe": {"httpGet": {"path": "/", "port": 80}}}
    return failed(pod(1, container=probed, **ended(code, reason=why)), events=[killing, unhealthy(uid)], **more)


def unhealthy(uid: str = "u-j-worker-0") -> Json:
    return probe_event("Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 503", uid=uid, at=32)


def probe_event(reason: str, message: str, *, uid: str = "u-j-worker-0", at: float = 31) -> Json:
    found = event(uid, reason, message, at=at)
    return {**found, "involvedObject": {"kind": "Pod", "name": "j-worker-0", "uid": uid}}


def xid(number: int) -> Json:
    told = event("u-node", "NodeProblem", f"NVRM: Xid (PCI:0000:3b:00): {number}, pid=1234")
    told["involvedObject"] |= {"kind": "Node", "name": "node-1"}
    return told


def versions(*ids: str) -> list[Json]:
    return [pod(rank, **runs(imageID=f"docker.io/team/train@sha256:{id}")) for rank, id in enumerate(ids)]


def says_of_nccl(*versions: str) -> Evidence:
    """Each rank writes the version of its NCCL."""
    return seen(*ALL_RUN, logs=tuple(log(rank, f"NCCL version {version}") for rank, version in enumerate(versions)))


def says_nccl(
    rank: int,
    *,
    made: int = 12,
    of: str = "0(default_pg)",
    op: str = "ALLREDUCE",
    step: bool = True,
    at: float = 30,
) -> Log:
    """The log of a rank on which NCCL's watchdog ended a call, by default call 12, or that only says how many it had made."""
    prefix = f"[rank{rank}]:[E1126 10:42:35.634818949 ProcessGroupNCCL.cpp:689]"
    in_group = f"{prefix} [PG ID 0 PG GUID {of} Rank {rank}]"
    work = f"WorkNCCL(SeqNum={made}, OpType={op}, Timeout(ms)=15000) ran for 15058 milliseconds before timing out."
    ended_by_watchdog = (
        f"{prefix} [Rank {rank}] Watchdog caught collective operation timeout: {work}",
        (
            f"{in_group}  failure detected by watchdog at work sequence id: {made} PG status: last enqueued work: {made},"
            f" last completed work: {made - 1}"
        ),
    )
    counts = f"{in_group} Last enqueued NCCL work: {made}, last completed NCCL work: {min(made, 11)}."
    first = ("step 11 loss 0.5",) if step else ()
    return log(rank, *first, *(ended_by_watchdog if made in (12, 40) else ()), counts, at=at)


def joined(*logs: Log) -> Log:
    """One log of what a rank wrote at several times."""
    return msgspec.structs.replace(logs[0], text="".join(one.text for one in logs))


ALL_RUN = [pod(rank, **runs()) for rank in range(3)]
MPI = v1_job(2, kind="MPIJob", conditions=[{"type": "Running", "status": "True", "reason": "JobRunning", "message": ""}])
RAISES = f"step 1 loss 0.5\n{traceback('ValueError: no data')}"

_API = "torch/distributed/elastic/multiprocessing/api.py:1003"
RESTARTED = f"E1126 10:42:36.635000 1 {_API}] failed (exitcode: -6) local_rank: 0 (pid: 7) of binary: /usr/bin/python3"
HEARTBEAT = "[rank0]:[F1126 10:52:35.634818949 ProcessGroupNCCL.cpp:1557] [PG ID 0 PG GUID 0(default_pg) Rank 0] Heartbeat"
RETRIES = "[rank0]:[W1126 10:52:35.634818949 socket.cpp:767] [c10d] The client socket has failed to connect"
TIMED_OUT = [says_nccl(rank, at=7200) for rank in range(3)]


QUIET = (log(0, "step 1 loss 0.5", "step 2 loss 0.4", "step 3 loss 0.3", at=300, every=1.0),)
IDLE = {"j-master-0": 0.01, "j-worker-0": 0.01, "j-worker-1": 0.01}

CASES: dict[str, tuple[Evidence, list[str]]] = {
    "a healthy job": (seen(*ALL_RUN, logs=(log(0, "step 1 loss 0.5"),)), []),
    "a claim is missing": (seen(*(unscheduled(CLAIM),)), ["K01"]),
    "the claim has been made since": (
        seen(unscheduled(CLAIM), claims=({"metadata": {"name": "weights"}, "spec": {}, "status": {"phase": "Pending"}},)),
        [],
    ),
    "a claim is not bound": (
        seen(
            unscheduled("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.", spec=OF_CLAIM),
            claims=({"metadata": {"name": "weights"}, "spec": {"storageClassName": "fast"}, "status": {"phase": "Pending"}},),
        ),
        ["K01"],
    ),
    "no node is large enough": (
        seen(unscheduled(GPU, container=ASKS), nodes=(node(**{"nvidia.com/gpu": "4"}),)),
        ["K02"],
    ),
    "a ConfigMap is missing": (
        seen(pod(0, **waiting("CreateContainerConfigError", 'configmap "settings" not found'))),
        ["K03"],
    ),
    "an image cannot be pulled": (seen(pod(0, **waiting("ImagePullBackOff", "Back-off pulling image"))), ["K03"]),
    "a container that is being made": (seen(pod(0, **waiting("ContainerCreating"))), []),
    "a command is missing": (failed(pod(0, **ended(128, reason="StartError", message='exec: "trian": not found'))), ["K04"]),
    "a shell does not find a command": (failed(pod(0, **ended(127)), logs=(log(0, "sh: 1: trian: not found"),)), ["K04"]),
    "a memory limit is exceeded": (failed(pod(0, **ended(137, reason="OOMKilled"))), ["K05"]),
    "137 without OOMKilled": (failed(pod(0, **ended(137)), logs=(log(0, "step 1 loss 0.5"),)), ["T00"]),
    "shared memory that torch cannot get": (
        failed(pod(0, **ended(1)), logs=(log(0, traceback(NO_SHARED_MEMORY)),)),
        ["K06"],
    ),
    "a full disk, of a file that torch calls its own": (
        failed(pod(0, **ended(1)), logs=(log(0, traceback("OSError: [Errno 28] No space left on device: '/data/torch_7'")),)),
        ["T08"],
    ),
    "a file that torch.save could not finish": (
        failed(pod(0, container=MOUNTED, **ended(1), spec=OF_CLAIM), logs=(log(0, traceback(CUT_OFF)),)),
        ["T08"],
    ),
    "a file that torch.save could not finish, as the recipes say it": (
        failed(pod(0, **ended(1)), logs=(log(0, f"error: {CUT_OFF.partition(': ')[2]}. Step 10 is not saved."),)),
        ["T08"],
    ),
    "a position of a program's own": (
        failed(pod(0, **ended(1)), logs=(log(0, traceback("ValueError: unexpected pos 704 vs 598")),)),
        ["T00"],
    ),
    "a bus error without /dev/shm": (failed(pod(0, **ended(135)), logs=(log(0, "loading"),)), ["K06"]),
    "a bus error with /dev/shm": (failed(pod(0, container=SHM, **ended(135)), logs=(log(0, "loading"),)), ["K06"]),
    "torch says that shared memory is short": (
        failed(
            pod(0, container=SHM, **ended(1)),
            logs=(log(0, traceback("RuntimeError: DataLoader worker (pid 9) is killed by signal: Bus error.")),),
        ),
        ["K06"],
    ),
    "a container that fails again and again": (
        seen(
            *(pod(rank, **loops()) for rank in range(3)),
            logs=tuple(
                log(rank, traceback("KeyError: 'DATASET'"), previous=previous) for rank in range(3) for previous in (True, False)
            ),
        ),
        ["K07"],
    ),
    "a container that was restarted twice, long ago": (
        seen(*ALL_RUN[:2], pod(2, **runs(restartCount=2, lastState={"terminated": {"exitCode": 1, "finishedAt": ago(900)}}))),
        [],
    ),
    "a pod was evicted": (
        failed(
            {**pod(0), "status": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}}
        ),
        ["K08"],
    ),
    "a pod that is gone was preempted": (preempted(), ["K08"]),
    "a pod was preempted, and the job runs in full again": (seen(*ALL_RUN, events=preempted().events), []),
    "a quota is used up": (
        seen(
            *ALL_RUN[:1],
            events=[
                event(
                    "u-j",
                    "FailedCreatePod",
                    'pods "j-worker-0" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1',
                )
            ],
        ),
        ["K09"],
    ),
    "a gang waits": (
        seen(
            job=v1_job(
                2,
                conditions=[
                    {
                        "type": "Created",
                        "status": "True",
                        "reason": "PyTorchJobWaitingForPodGroup",
                        "message": "PodGroup j needs 3 pods",
                    }
                ],
            )
        ),
        ["K10"],
    ),
    "a worker waits for its master": (
        seen(
            pod(0, **waiting("ContainerCreating")),
            pod(1, initContainerStatuses=[{"name": "init-pytorch", "state": {"running": {"startedAt": ago(9)}}}]),
        ),
        ["K11"],
    ),
    "a worker waits for its master, whose image is missing": (
        seen(
            pod(0, **waiting("ImagePullBackOff", "Back-off")),
            pod(1, initContainerStatuses=[{"name": "init-pytorch", "state": {"running": {"startedAt": ago(9)}}}]),
        ),
        ["K03"],
    ),
    "a ServiceAccount is missing": (
        seen(
            events=[
                event("u-j", "FailedCreatePod", 'error looking up service account n/trainer: serviceaccount "trainer" not found')
            ]
        ),
        ["K12"],
    ),
    "a rank started after another had succeeded": (seen(pod(0, **ended(0, at=500)), pod(1, **runs()), pod(2, **runs())), ["K13"]),
    "no scheduler has processed a pod": (seen(pod(0, spec={"nodeName": "", "schedulerName": "volcano"})), ["K14"]),
    "a job is suspended": (seen(job=suspended()), ["K15"]),
    "a rank ended with an exception": (all_end(traceback("ValueError: no data"), RESET, RESET), ["T00"]),
    "the victim ended first by the clock": (
        failed(
            *(pod(rank, **ended(1)) for rank in range(3)),
            logs=(
                log(0, traceback("ValueError: no data"), at=30),
                log(1, traceback(RESET), at=31),
                log(2, traceback(RESET), at=31),
            ),
        ),
        ["T00"],
    ),
    "an exception after which the rank went on": (
        failed(pod(0, **ended(3)), logs=(log(0, traceback("ValueError: one bad sample"), "step 9 loss 0.5", "giving up"),)),
        ["T00"],
    ),
    "collectives differ": (all_end(*[traceback(MISMATCH)] * 3), ["T01"]),
    "sizes differ": (all_end(traceback(SIZES), RESET, RESET), ["T02"]),
    "GPU memory is exhausted": (all_end(traceback(CUDA), RESET, RESET), ["T03"]),
    "a name does not resolve": (all_end(traceback(UNKNOWN), traceback(UNKNOWN), traceback(UNKNOWN)), ["T04"]),
    "a name did not resolve at first": (
        all_end(LATER, f"{RETRY}\n{RESET}", RESET),
        ["T00"],
    ),
    "a rank did not join": (all_end(traceback(JOINED.format(2)), "", ""), ["T05", "T00"]),
    "a rank is there twice": (all_end(*[traceback(KEYS.format(2))] * 3), ["T06"]),
    "keys of rank 0 while the store waits for clients": (
        all_end(traceback(JOINED.format(2)), traceback(KEYS.format(0)), traceback(KEYS.format(0))),
        ["T05"],
    ),
    "keys of rank 0 from some ranks": (all_end("", traceback(KEYS.format(0)), traceback(KEYS.format(0))), ["T00", "T00"]),
    "the address is wrong": (
        failed(
            pod(0, container=MASTER, **ended(1)),
            pod(1, container=MASTER, **ended(1)),
            logs=(log(0, traceback(JOINED.format(1))), log(1, traceback(CLIENT.format("j-master-0", 23457)))),
        ),
        ["T07"],
    ),
    "a NetworkPolicy lets nothing in": (kept_apart(ingress()), ["T07", "T00"]),
    "a NetworkPolicy that lets the workers in": (
        kept_apart(ingress({"ports": [{"protocol": "TCP", "port": PORT}]})),
        ["T00", "T07"],
    ),
    "a volume is full": (failed(pod(0, container=MOUNTED, spec=OF_CLAIM, **ended(1)), logs=(log(0, traceback(FULL)),)), ["T08"]),
    "a volume is not the user's": (
        failed(
            pod(0, container=MOUNTED, spec=OF_CLAIM, **ended(1)),
            logs=(log(0, traceback(f"{DENIED}: '/data/7.pt'")),),
        ),
        ["T08"],
    ),
    "torch may not save a file, and does not say which": (all_end(traceback(SAVE_DENIED)), ["T08", "T00"]),
    "a port may not be taken": (all_end(*[traceback(DENIED)] * 3), ["T00"]),
    "a service permits nothing": (all_end(*[traceback("Forbidden: 403 Permission denied: 'projects/7'")] * 3), ["T00"]),
    "a program is not executable": (all_end(*[f"{SPAWN}'/data/tool'"] * 3), ["T00"]),
    "a device may not be opened": (all_end(*[traceback(f"{DENIED}: '/dev/infiniband/uverbs0'")] * 3), ["T00"]),
    "a library may not write its cache": (
        failed(
            pod(0, **ended(1)), logs=(log(0, "matplotlib: Permission denied: '/root/.cache'", traceback("ValueError: no data")),)
        ),
        ["T00"],
    ),
    "a checkpoint is cut off": (
        failed(pod(0, **ended(1)), logs=(log(0, traceback(CENTRAL, "/app/train.py", "/usr/lib/torch/serialization.py")),)),
        ["T09"],
    ),
    "an OSError 22 outside a load": (
        failed(pod(0, **ended(1)), logs=(log(0, traceback("OSError: [Errno 22] Invalid argument")),)),
        ["T00"],
    ),
    "an init container runs on": (seen(pod(0, **initializes(90)), pod(1, **initializes(90))), ["K16"]),
    "an init container has run for seconds": (seen(pod(0, **initializes(20))), []),
    "a launcher waits for its workers in the operator's init container": (
        seen(*(pod(rank, **initializes(90, name="kubectl-delivery")) for rank in range(3))),
        [],
    ),
    "a sidecar that starts before the training runs on": (seen(pod(0, **initializes(90, restartPolicy="Always"))), []),
    "a sidecar keeps pods whose training has ended": (
        seen(*(pod(rank, **beside("proxy", 0, at=90)) for rank in range(3))),
        ["K17"],
    ),
    "a sidecar keeps a pod whose training has failed": (
        seen(pod(0, **beside("proxy", 1, at=90)), *ALL_RUN[1:], logs=(log(0, traceback("ValueError: no data")),)),
        ["T00", "K17"],
    ),
    "a sidecar ends soon after the training": (seen(*(pod(rank, **beside("proxy", 0, at=5)) for rank in range(3))), []),
    "a sidecar runs beside training that is restarted": (
        seen(*(pod(rank, **beside("proxy", 0, at=90, policy="Always")) for rank in range(3))),
        [],
    ),
    "the node ended a container for its probe": (killed_by_probe(), ["K18"]),
    "torchrun ended on the signal after its probe had failed": (
        killed_by_probe(1, logs=(log(1, traceback("SignalException: Process 1 got signal: 15")),)),
        ["K18"],
    ),
    "a container saved a checkpoint after its probe had failed": (killed_by_probe(0), ["K18"]),
    "a probe ended an earlier pod of this name": (killed_by_probe(uid="u-1", at=3000), ["T00"]),
    "a probe ended another pod of this name": (killed_by_probe(uid="u-1"), ["T00"]),
    "a probe ended an earlier run of this container": (killed_by_probe(at=3000), ["T00"]),
    "a probe failed after a container had ended": (killed_by_probe(at=20), ["T00"]),
    "a probe had failed, and a memory limit was exceeded": (killed_by_probe(why="OOMKilled"), ["K05"]),
    "a probe failed, and a container was killed for another reason": (
        failed(pod(1, **ended(137)), events=[unhealthy()]),
        ["T00"],
    ),
    "the loss is not a number": (seen(*ALL_RUN, logs=(log(1, *NAN), log(0, "step 1 loss 0.5"))), ["T10"]),
    "the loss was not a number once": (seen(*ALL_RUN, logs=(log(1, *NAN, "step 4 loss 0.4"),)), []),
    "nan in a word": (seen(*ALL_RUN, logs=(log(1, "loss of the nanny 1", "loss of finance 2", "banana loss: nano"),)), []),
    "no line for long, and no work": (seen(*ALL_RUN, logs=QUIET, cpu=IDLE), ["S02"]),
    "no line for long, and work": (seen(*ALL_RUN, logs=QUIET, cpu={**IDLE, "j-worker-0": 0.9}), []),
    "images differ": (seen(*versions("a", "b", "b")), ["T11"]),
    "images are the same": (seen(*versions("a", "a", "a")), []),
    "NCCL says of one rank what it was built for": (says_of_nccl("2.28.9+cuda13.0", "2.28.9", "2.28.9."), []),
    "NCCL was built for others": (says_of_nccl("2.28.9+cuda13.0", "2.28.9+cuda12.9", "2.28.9"), ["T11"]),
    "NCCL differs": (says_of_nccl("2.28.9+cuda13.0", "2.27.5"), ["T11"]),
    "a GPU fell off the bus": (seen(*ALL_RUN, events=[xid(79)]), ["T12"]),
    "a GPU's error that is told several times": (seen(*ALL_RUN, events=[xid(79), xid(79), xid(79)]), ["T12"]),
    "a program's page fault": (seen(*ALL_RUN, events=[xid(31)]), ["T12"]),
    "a benign XID": (seen(*ALL_RUN, events=[xid(45)]), []),
    "a rank did not come to a barrier": (all_end(traceback(BARRIER), RESET, RESET), ["T13"]),
    "a collective timed out": (all_end(*[traceback(GLOO)] * 3), ["T14"]),
    "a collective timed out, and the ranks go on": (seen(*ALL_RUN, logs=(says_nccl(0), says_nccl(2))), ["T14"]),
    "a collective timed out, and the job has made steps since": (
        seen(*ALL_RUN, logs=(log(0, "step 13 loss 0.5", "step 14 loss 0.4", at=5), says_nccl(1), says_nccl(2))),
        [],
    ),
    "torchrun has restarted the ranks since a collective timed out": (
        seen(*ALL_RUN, logs=tuple(joined(says_nccl(rank, at=60), log(rank, RESTARTED, at=55)) for rank in range(3))),
        [],
    ),
    "a collective timed out long ago, and its ranks have written since": (
        seen(*ALL_RUN, logs=(joined(TIMED_OUT[0], log(0, "wandb: synced", at=5)), *TIMED_OUT[1:])),
        [],
    ),
    "a collective timed out long ago, and torch writes of it again": (
        seen(
            *ALL_RUN, logs=(joined(TIMED_OUT[0], log(0, HEARTBEAT, "#0 all_reduce from x.py:1", RETRIES, at=5)), *TIMED_OUT[1:])
        ),
        ["T14"],
    ),
    "a collective timed out, and the rank that is late goes on": (
        seen(*ALL_RUN, logs=(TIMED_OUT[0], joined(says_nccl(1, made=11, at=7200), log(1, "evaluating", at=5)), TIMED_OUT[2])),
        ["T14"],
    ),
    "a collective timed out after a restart": (
        seen(*ALL_RUN, logs=tuple(joined(log(rank, RESTARTED, at=60), says_nccl(rank)) for rank in range(3))),
        ["T14"],
    ),
    "a rank ended with exit code 0": (
        failed(
            pod(0, **ended(1)),
            pod(1, **ended(0, at=30)),
            pod(2, **ended(1)),
            logs=(log(0, traceback(RESET)), log(2, traceback(RESET))),
        ),
        ["T15"],
    ),
    "an exception is the last of an MPIJob": (seen(*ALL_RUN, job=MPI, logs=(log(0, RAISES),)), ["T16"]),
    "an MPIJob goes on after an exception": (seen(*ALL_RUN, job=MPI, logs=(log(0, RAISES, "step 2 loss 0.4"),)), []),
    "an MPIJob writes another line after an exception": (seen(*ALL_RUN, job=MPI, logs=(log(0, RAISES, "retrying"),)), []),
    "an exception of an MPIJob is new": (seen(*ALL_RUN, job=MPI, logs=(log(0, RAISES, at=5),)), []),
    "an exception is the last of a job without MPI": (seen(*ALL_RUN, logs=(log(0, RAISES),)), []),
    "only victims are left": (failed(pod(0, **ended(1)), logs=(log(0, traceback(RESET)),)), ["T90"]),
}
