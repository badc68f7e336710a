"""The operator's webhooks, asked as an API server asks them: TrainJobs and PyTorchJobs, defaulted and validated.

A question is sent when it is due, whether or not earlier ones are answered, so that one slow answer shows in those behind it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import time
import uuid
from typing import Any, NamedTuple

import aiohttp
import uvloop

import usage
from embedded import Cluster, cluster, objects
from figures import Figure, percentile

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
JOBS = {"trainjobs": "train_job", "pytorchjobs": "job"}


class Question(NamedTuple):
    """Where to send an AdmissionReview, and what it says of the object."""

    url: str
    tls: ssl.SSLContext
    request: dict[str, Any]


def measure(settings: dict[str, Any]) -> list[Figure]:
    rate, seconds = settings["per_second"], settings["seconds"]
    with cluster("--simulate") as started:
        questions = list(asked(started))
        operator = [started.processes()["operator"]]
        uvloop.run(answers(questions, rate, 1))
        before = usage.processor_seconds(operator)
        latencies = uvloop.run(answers(questions, rate, seconds))
        busy = usage.processor_seconds(operator) - before
    note = f"{rate} a second for {seconds} s, {len(questions)} webhooks in turn"
    return [
        Figure("answer of a webhook, p99", 1000 * percentile(latencies, 0.99), "ms", note),
        Figure("answer of a webhook, p50", 1000 * percentile(latencies, 0.5), "ms"),
        Figure("processor time of an answer", busy / len(latencies) * 1e6, "us", "of the operator"),
    ]


def asked(started: Cluster) -> list[Question]:
    """One question for every webhook that is about the creation of our jobs."""
    found = []
    samples = {plural: objects()[name] for plural, name in JOBS.items()}
    for phase in ("mutating", "validating"):
        for configuration in started.ask("GET", CONFIGURATIONS.format(phase))["items"]:
            for webhook in configuration["webhooks"]:
                for rule in webhook["rules"]:
                    for plural in set(rule["resources"]) & samples.keys():
                        config = webhook["clientConfig"]
                        tls = ssl.create_default_context(cadata=base64.b64decode(config["caBundle"]).decode())
                        group, version = rule["apiGroups"][0], rule["apiVersions"][0]
                        found.append(Question(config["url"], tls, creation(samples[plural], group, version, plural)))
    return found


def creation(template: dict[str, Any], group: str, version: str, plural: str) -> dict[str, Any]:
    job = {**template, "metadata": {"name": "asked", "namespace": "default"}}
    return {
        "kind": {"group": group, "version": version, "kind": job["kind"]},
        "resource": {"group": group, "version": version, "resource": plural},
        "name": "asked",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "bench", "groups": ["system:authenticated"]},
        "object": job,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }


async def answers(questions: list[Question], rate: int, seconds: int) -> list[float]:
    """How long each answer took, in seconds, from when its question was due."""
    started = time.perf_counter()
    async with aiohttp.ClientSession() as session:

        async def ask(number: int) -> float:
            due = started + number / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            question = questions[number % len(questions)]
            uid = str(uuid.uuid4())
            review = {
                "kind": "AdmissionReview",
                "apiVersion": "admission.k8s.io/v1",
                "request": {"uid": uid, **question.request},
            }
            async with session.post(question.url, json=review, ssl=question.tls) as answer:
                response = json.loads(await answer.read())["response"]
            if response["uid"] != uid or not response["allowed"]:
                raise RuntimeError(f"{question.url}: {response}")
            return time.perf_counter() - due

        return await asyncio.gather(*map(ask, range(rate * seconds)))
