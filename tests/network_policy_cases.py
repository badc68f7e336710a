"""Whether NetworkPolicies let a worker connect to its master, by TCP, on port 23456: the rule itself and what `shunter doctor`
says of it are both held to this. Each case: the specs of policies in the job's namespace, as an API server fills them in, and the
answer.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

PORT = 23456
PORT_NAME = "pytorchjob-port"
"""What the master's container calls that port, for TCP."""
MASTER_ADDRESS, WORKER_ADDRESS = "10.1.0.2", "10.1.0.3"
ROLE = "training.kubeflow.org/replica-type"

MASTER = {"matchLabels": {ROLE: "master"}}
WORKERS = {"matchLabels": {ROLE: "worker"}}
OTHERS = {"matchLabels": {"app": "web"}}


def ingress(*rules: Json, to: Json | None = None) -> Json:
    return {"podSelector": to or {}, "policyTypes": ["Ingress"], "ingress": list(rules)}


def egress(*rules: Json, of: Json | None = None) -> Json:
    return {"podSelector": of or {}, "policyTypes": ["Egress"], "egress": list(rules)}


def port(number: int | str, protocol: str = "TCP", **more: Any) -> Json:
    return {"protocol": protocol, "port": number, **more}


def of_block(cidr: str, *excepted: str) -> Json:
    return {"ipBlock": {"cidr": cidr, "except": list(excepted)}}


CASES: dict[str, tuple[list[Json], bool]] = {
    "no policy": ([], True),
    "one that lets nothing in": ([ingress()], False),
    "one that lets nothing in to other pods": ([ingress(to=OTHERS)], True),
    "one that lets nothing in to workers": ([ingress(to=WORKERS)], True),
    "one that lets nothing in to the master": ([ingress(to=MASTER)], False),
    "one that lets all in": ([ingress({})], True),
    "what another lets in adds up": ([ingress(), ingress({"from": [{"podSelector": WORKERS}]})], True),
    "what another lets in to other pods does not": ([ingress(), ingress({}, to=OTHERS)], False),
    "workers are let in": ([ingress({"from": [{"podSelector": WORKERS}]})], True),
    "only others are let in": ([ingress({"from": [{"podSelector": OTHERS}]})], False),
    "only the master is let in": ([ingress({"from": [{"podSelector": MASTER}]})], False),
    "the port": ([ingress({"ports": [port(PORT)]})], True),
    "another port": ([ingress({"ports": [port(29500)]})], False),
    "another protocol": ([ingress({"ports": [port(PORT, "UDP")]})], False),
    "any port of the protocol": ([ingress({"ports": [{"protocol": "TCP"}]})], True),
    "any port of another protocol": ([ingress({"ports": [{"protocol": "UDP"}]})], False),
    "ports around it": ([ingress({"ports": [port(20000, endPort=30000)]})], True),
    "ports below it": ([ingress({"ports": [port(20000, endPort=23455)]})], False),
    "the name of the port": ([ingress({"ports": [port(PORT_NAME)]})], True),
    "a name that is no port of the master": ([ingress({"ports": [port("http")]})], False),
    "its name of another protocol": ([ingress({"ports": [port(PORT_NAME, "UDP")]})], False),
    "workers on another port": ([ingress({"from": [{"podSelector": WORKERS}], "ports": [port(22)]})], False),
    "others on the port, workers on another": (
        [
            ingress({"from": [{"podSelector": OTHERS}], "ports": [port(PORT)]}),
            ingress({"from": [{"podSelector": WORKERS}], "ports": [port(22)]}),
        ],
        False,
    ),
    "a block around the worker": ([ingress({"from": [of_block("10.1.0.0/16")]})], True),
    "a block without the worker": ([ingress({"from": [of_block("192.168.0.0/16")]})], False),
    "a block from which the worker is excepted": ([ingress({"from": [of_block("10.1.0.0/16", f"{WORKER_ADDRESS}/32")]})], False),
    "rules of a direction that the policy is not about": ([{**ingress({}), "policyTypes": ["Egress"]}], False),
    "one that lets nothing out": ([egress()], False),
    "one that lets nothing out of the master": ([egress(of=MASTER)], True),
    "the master on the way out": ([egress({"to": [{"podSelector": MASTER}]})], True),
    "others on the way out": ([egress({"to": [{"podSelector": OTHERS}]})], False),
    "only the name server on the way out": ([egress({"ports": [port(53, "UDP"), port(53)]})], False),
    "the name of the port on the way out": ([egress({"to": [{"podSelector": MASTER}], "ports": [port(PORT_NAME)]})], True),
    "in and not out": ([ingress({}), egress()], False),
}  # fmt: skip
