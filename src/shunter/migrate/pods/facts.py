"""A pod as a flat list of facts, so that two pods can be compared fact by fact: names of pods are marked, and lists whose items
have a key are identified by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias

import msgspec

from shunter.api.formats.quantity import canonical_resource
from shunter.api.jobset import JOBSET_NAME
from shunter.api.meta import Json
from shunter.api.selectors import selects
from shunter.migrate.pods.effective import effective_container
from shunter.migrate.pods.hosts import Hosts
from shunter.migrate.pods.places import CANONICAL_NAME
from shunter.migrate.pods.sides import Replica
from shunter.operator.training.names import JOB_NAME, OPERATOR_NAME
from shunter.operator.training.names import PREFIX as V1_PREFIX

Place: TypeAlias = tuple[str, ...]
"""Where a fact stands: `("containers", "node", "env", "RANK")`."""
Facts: TypeAlias = dict[Place, Any]
"""Lists that have no keys are one fact. What is empty is left out: Go writes it or not, to the same effect."""

TRAINING = "node"
"""What the container that trains is called in places, whatever its name."""
_KEYS = {"volumeMounts": "mountPath", "volumeDevices": "devicePath", "resizePolicy": "resourceName"}
_KEY_LISTS = ("matchLabelKeys", "mismatchLabelKeys")
_JOB_NAMES = {JOB_NAME: JOBSET_NAME}
_OWN_PREFIXES = (V1_PREFIX, "jobset.sigs.k8s.io/", "batch.kubernetes.io/", "trainer.kubeflow.org/")
_OWN_KEYS = ("job-name", "controller-uid")


class Side:
    """One side of a comparison: what is needed to tell the facts of its pods."""

    def __init__(self, hosts: Hosts, labels: Mapping[str, Mapping[str, str]]) -> None:
        """`labels` are those of the job's pods by their marks."""
        self._hosts = hosts
        self._labels = labels
        self._parts: dict[bytes, Any] = {}
        self._known: dict[tuple[Place, int], Facts] = {}
        """What parts say that pods share, by their identity: they live as long as their pods, and so longer than this."""

    def facts(self, replica: Replica) -> Facts:
        """Everything that a pod says, but its names and its owner. Raises ValueError for a reference that Kubernetes does not
        offer."""
        found: Facts = {}
        metadata, spec = replica.pod["metadata"], replica.pod["spec"]
        # Every pod has one of its own, under v1 as well.
        replica = replace(replica, pod={**replica.pod, "metadata": {**metadata, "uid": "<uid of the pod>"}})
        for field in ("labels", "annotations"):
            for key, value in (metadata.get(field) or {}).items():
                found[field, key] = self._hosts.marked(value)
        for name in metadata.get("finalizers") or ():
            found["finalizers", name] = True
        for field, value in spec.items():
            match field:
                case "containers" | "initContainers":
                    for container in value:
                        self._container(found, replica, container, field)
                case "volumes":
                    for volume in value:
                        for key, item in volume.items():
                            if key in ("downwardAPI", "projected"):
                                self._flat(found, _with_training(item, replica), (field, volume["name"], key))
                            elif key != "name":
                                self._shared(found, item, (field, volume["name"], key))
                case "affinity" | "topologySpreadConstraints":
                    self._flat(found, self._with_selections(value), ("spec", field))
                case "hostAliases":
                    self._flat(found, _lookups(self._hosts.marked(value or [])), ("spec", field))
                case "imagePullSecrets":
                    by_name = {secret.get("name", ""): secret for secret in value or ()}
                    self._flat(found, [*by_name.values()], ("spec", field))
                case _:
                    self._shared(found, value, ("spec", field))
        found["initContainers",] = [container["name"] for container in spec.get("initContainers") or ()]
        return found

    def _container(self, found: Facts, replica: Replica, container: Json, field: str) -> None:
        name = container["name"]
        is_training = field == "containers" and name == replica.container
        place = (field, TRAINING if is_training else _beside_training(replica) if name == TRAINING else name)
        sees = effective_container(replica.pod, container)
        for variable, text in sees.environment.items():
            found[*place, "env", variable] = self._text(text)
        if sees.program is not None:
            found[*place, "program"] = self._hosts.marked(sees.program)
        elif sees.arguments:
            found[*place, "args"] = self._hosts.marked(sees.arguments)
        for key, value in container.items():
            match key:
                case "name" | "env" | "command" | "args":
                    continue
                case "ports":
                    for port in value:
                        number = f"{port.get('containerPort', 0)}/{port.get('protocol', 'TCP')}"
                        rest = {inner: item for inner, item in port.items() if inner not in ("containerPort", "protocol")}
                        found[*place, key, number] = rest
                case "resources":
                    self._resources(found, value, (*place, key))
                case _ if key in _KEYS:
                    for item in value:
                        self._shared(found, item, (*place, key, item[_KEYS[key]]))
                case _:
                    self._shared(found, value, (*place, key))

    def _resources(self, found: Facts, resources: Json, place: Place) -> None:
        for field, value in resources.items():
            if field in ("limits", "requests"):
                for name, quantity in value.items():
                    found[*place, field, name] = _amount(quantity)
            else:
                self._flat(found, value, (*place, field))

    def _shared(self, found: Facts, value: Any, place: Place) -> None:
        if not isinstance(value, (dict, list)):
            self._flat(found, value, place)
            return
        key = place, id(value)
        if key not in self._known:
            self._known[key] = {}
            self._flat(self._known[key], value, place)
        found.update(self._known[key])

    def _flat(self, found: Facts, value: Any, place: Place) -> None:
        if isinstance(value, dict) and value:
            for key, item in value.items():
                self._flat(found, item, (*place, key))
        elif value not in ({}, [], "", None):
            found[place] = self._hosts.marked(value)

    def _text(self, text: str) -> Any:
        """JSON in a variable is compared by what it says."""
        if text[:1] in ("{", "["):
            try:
                if text[0] == "[":
                    return self._hosts.marked(msgspec.json.decode(text))
                parts = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
                return {self._hosts.marked(key): self._part(bytes(part)) for key, part in parts.items()}
            except (msgspec.DecodeError, RecursionError):
                pass
        return self._hosts.marked(text)

    def _part(self, part: bytes) -> Any:
        """The value of a part of a JSON object: most parts are the same in all pods."""
        if part not in self._parts:
            self._parts[part] = self._hosts.marked(msgspec.json.decode(part))
        return self._parts[part]

    def _with_selections(self, value: Any) -> Any:
        """Affinities and spread constraints with what their selectors select, in the place of labels that operators give."""
        if isinstance(value, list):
            return [self._with_selections(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {key: self._selected(key, item) for key, item in value.items()}

    def _selected(self, key: str, value: Any) -> Any:
        if key == "labelSelector" and isinstance(value, dict):
            return self._selection(value)
        if key in _KEY_LISTS and isinstance(value, list):
            return [self._division(str(label)) for label in value]
        return self._with_selections(value)

    def _division(self, label: str) -> Any:
        """The pods by the label's value; the label itself where no pod of the job has it."""
        groups: dict[str, list[str]] = {}
        for mark, labels in self._labels.items():
            if label in labels:
                groups.setdefault(labels[label], []).append(mark)
        return [*groups.values()] or label

    def _selection(self, selector: Json) -> Json:
        marks = [mark for mark, labels in self._labels.items() if selects(selector, labels)]
        if not marks:
            has_names = any(JOB_NAME in labels for labels in self._labels.values())
            return _of_other_jobs(selector) if has_names else selector
        rules: Iterable[Json] = selector.get("matchExpressions") or ()
        return {
            "selects": marks,
            "matchLabels": {key: value for key, value in (selector.get("matchLabels") or {}).items() if not is_own(key)},
            "matchExpressions": [rule for rule in rules if not is_own(str(rule.get("key", "")))],
        }


def _lookups(aliases: Iterable[Json]) -> Json:
    """What the lines of /etc/hosts say that are made of aliases: the names of each address, the addresses of each name in the
    order of the lines, and what the first line with a name calls canonical."""
    names: dict[str, dict[str, None]] = {}
    addresses: dict[str, dict[str, None]] = {}
    canonical: dict[str, str] = {}
    for alias in aliases:
        of_line = alias.get("hostnames") or []
        names.setdefault(alias["ip"], {}).update(dict.fromkeys(of_line))
        for name in of_line:
            addresses.setdefault(name, {})[alias["ip"]] = None
            canonical.setdefault(name, of_line[0])
    return {
        "hostnames": {address: [*found] for address, found in names.items()},
        "ip": {name: [*found] for name, found in addresses.items()},
        CANONICAL_NAME: canonical,
    }


def _with_training(value: Any, replica: Replica) -> Any:
    """A volume's source, with the training container called TRAINING where it is asked for its resources."""
    if isinstance(value, list):
        return [_with_training(item, replica) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: TRAINING if key == "containerName" and item == replica.container else _with_training(item, replica)
        for key, item in value.items()
    }


def _beside_training(replica: Replica) -> str:
    """What another container of that name is called by the conversion (`rules/containers`): the first name that is free."""
    spec = replica.pod["spec"]
    known = {container["name"] for field in ("containers", "initContainers") for container in spec.get(field) or ()}
    return next(name for number in count(1) if (name := f"{TRAINING}-{number}") not in known)


def _of_other_jobs(selector: Json) -> Json:
    """A selector of pods that are none of the job's, on a side whose pods have v1's label of the job's name: with JobSet's in its
    place, which all pods of v2 have."""
    given = selector.get("matchLabels") or {}
    labels = {_JOB_NAMES.get(key, key): value for key, value in given.items() if key != OPERATOR_NAME or JOB_NAME not in given}
    rules = [
        {**rule, "key": _JOB_NAMES.get(rule.get("key", ""), rule.get("key"))} for rule in selector.get("matchExpressions") or ()
    ]
    changed: Json = {"matchLabels": labels, "matchExpressions": rules}
    return {**selector, **{field: value for field, value in changed.items() if field in selector}}


def is_own(key: str) -> bool:
    """Whether operators and controllers give pods the label or annotation; a conversion may repeat those of v1 on request."""
    return key.startswith(_OWN_PREFIXES) or key in _OWN_KEYS


def _amount(quantity: Any) -> str:
    """One text for one amount: `1Gi` for `1024Mi`."""
    try:
        return canonical_resource(quantity)
    except ValueError:
        return str(quantity)
