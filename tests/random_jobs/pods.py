"""Random pod templates: what users write, and what operators look at or set themselves."""

from __future__ import annotations

import random

from random_jobs.fields import some
from shunter.api.meta import Json

EXIT_CODES = (1, 2, 126, 127, 128, 130, 137, 138, 143, 255)
"""Those that v1's restart policy ExitCode tells apart, and others."""
ENVIRONMENT = (
    {"name": "LEARNING_RATE", "value": "0.1"},
    {"name": "EMPTY", "value": ""},
    {"name": "RANK", "value": "7"},
    {"name": "MASTER_ADDR", "value": "elsewhere"},
    {"name": "PET_NNODES", "value": "9"},
    {"name": "WORLD_SIZE", "value": "5"},
    {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
)
RESOURCES = (
    {"limits": {"nvidia.com/gpu": "2"}},
    {"limits": {"cpu": "1500m", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "512Mi"}},
    {"requests": {"cpu": "2"}},
    {"limits": {"cpu": "3", "amd.com/gpu": "1"}},
    {"limits": {"example.org/tpu": "4"}},
)


def containers(rng: random.Random, main: str, port: str | None) -> Json:
    """`containers` and perhaps `initContainers` of a pod whose main container has this name, and a port of this name."""
    first = {"name": main, "image": "img:1", **container_settings(rng)}
    if port and rng.random() < 0.25:
        named = {"name": port, "containerPort": rng.choice([2222, 23456, 30000])}
        first["ports"] = [named, *([{"name": "http", "containerPort": 8080}] if rng.random() < 0.5 else [])]
    made: Json = {"containers": [first]}
    if rng.random() < 0.2:
        beside = {"name": "side", "image": "img:2", **container_settings(rng)}
        made["containers"] = rng.choice([[first, beside], [beside, first]])
    if rng.random() < 0.12:
        made["initContainers"] = [{"name": "first", "image": "img:3", **container_settings(rng)}]
    return made


def container_settings(rng: random.Random) -> Json:
    """What a container has beside its name and image."""
    return some(
        rng,
        {
            "command": ["python", "train.py"],
            "args": ["--epochs", "3"],
            "env": rng.sample(ENVIRONMENT, rng.randint(1, 3)),
            "resources": rng.choice(RESOURCES),
            "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            "imagePullPolicy": rng.choice(["Always", "IfNotPresent"]),
            "workingDir": "/work",
            "securityContext": {"runAsUser": 1000},
        },
        0.18,
    )


def pod_settings(rng: random.Random) -> Json:
    """What a pod's spec has beside its containers; with the volume that they may mount."""
    return {"volumes": [{"name": "scratch", "emptyDir": {}}]} | some(
        rng,
        {
            "restartPolicy": rng.choice(["Never", "OnFailure"]),
            "serviceAccountName": "trainer",
            "nodeSelector": {"pool": "gpu"},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "hostNetwork": True,
            "priorityClassName": "system-cluster-critical",
            "schedulerName": rng.choice(["volcano", "other"]),
            "terminationGracePeriodSeconds": 5,
            "imagePullSecrets": [{"name": "registry"}],
            "affinity": {"podAntiAffinity": {}},
            "dnsPolicy": "ClusterFirst",
            "subdomain": "sub",
            "hostname": "host",
        },
        0.06,
    )


def pod_metadata(rng: random.Random) -> Json:
    """Labels and annotations of a pod template; those of operators' own among them."""
    labels = [{"app": "x"}, {"training.kubeflow.org/job-role": "mine"}, {"training.kubeflow.org/replica-index": "9"}]
    annotations = [{"note": "x"}, {"sidecar.istio.io/inject": "false"}, {"scheduling.k8s.io/group-name": "mine"}]
    return some(rng, {"labels": rng.choice(labels), "annotations": rng.choice(annotations)}, 0.15)
