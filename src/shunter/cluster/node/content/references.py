"""The ConfigMaps, Secrets, claims and service account tokens a pod needs before it can run. Pure."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from shunter.api.meta import Json


class MissingSourceError(Exception):
    """A ConfigMap, Secret, claim or key that a pod needs is not there. The message is kubelet's."""


class TokenKey(NamedTuple):
    """One projected service account token."""

    audience: str
    expiration_seconds: int


class References(NamedTuple):
    """Names in the pod's namespace."""

    config_maps: frozenset[str]
    secrets: frozenset[str]
    tokens: frozenset[TokenKey]
    claims: frozenset[str] = frozenset()


class Sources(NamedTuple):
    """What was found: object by name; a name that is absent does not exist (yet)."""

    config_maps: Mapping[str, Json]
    secrets: Mapping[str, Json]
    tokens: Mapping[TokenKey, str]
    claims: Mapping[str, Json] = {}
    volumes: Mapping[str, Json] = {}
    """The PersistentVolumes of the claims, by their own names."""

    def resolved(self, volume: Json) -> Json:
        """A volume of a pod with the source of its PersistentVolume in the place of a claim. Raises MissingSourceError."""
        if "persistentVolumeClaim" not in volume:
            return volume
        name = volume["persistentVolumeClaim"]["claimName"]
        claim = self.claims.get(name)
        if claim is None:
            raise MissingSourceError(f'persistentvolumeclaim "{name}" not found')
        found = self.volume_behind(volume)
        if found is None or (claim.get("status") or {}).get("phase") != "Bound":
            raise MissingSourceError(f'persistentvolumeclaim "{name}" is not bound')
        spec = found["spec"]
        if "hostPath" in spec:
            return {"name": volume["name"], "hostPath": spec["hostPath"]}
        if "local" in spec:
            return {"name": volume["name"], "hostPath": {"path": spec["local"]["path"], "type": "Directory"}}
        metadata = found["metadata"]["name"]
        raise MissingSourceError(f"PersistentVolume {metadata} is neither hostPath nor local: this node mounts no other")

    def volume_behind(self, volume: Json) -> Json | None:
        """The PersistentVolume of a pod's volume that is a claim; None for others, and where there is none yet."""
        claim = self.claims.get((volume.get("persistentVolumeClaim") or {}).get("claimName", ""))
        return self.volumes.get(claim["spec"].get("volumeName", "")) if claim else None

    def config_map(self, name: str, *, optional: bool) -> dict[str, bytes] | None:
        """Its entries that may become variables (`data`); None when it does not exist but may be missing."""
        found = self.config_maps.get(name)
        if found is None:
            _require(optional, f'configmap "{name}" not found')
            return None
        return {key: str(value).encode() for key, value in (found.get("data") or {}).items()}

    def config_map_files(self, name: str, *, optional: bool) -> dict[str, bytes] | None:
        """All of its entries (`data` and `binaryData`); None when it does not exist but may be missing."""
        entries = self.config_map(name, optional=optional)
        if entries is not None:
            binary = self.config_maps[name].get("binaryData") or {}
            entries.update({key: base64.b64decode(value) for key, value in binary.items()})
        return entries

    def secret(self, name: str, *, optional: bool) -> dict[str, bytes] | None:
        """Its decoded entries; None when it does not exist but may be missing."""
        found = self.secrets.get(name)
        if found is None:
            _require(optional, f'secret "{name}" not found')
            return None
        return {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}


def _require(optional: bool, otherwise: str) -> None:
    if not optional:
        raise MissingSourceError(otherwise)


def references(pod: Json) -> References:
    """Everything that env, envFrom and volumes of the pod name."""
    config_maps: set[str] = set()
    secrets: set[str] = set()
    tokens: set[TokenKey] = set()
    claims: set[str] = set()
    spec = pod["spec"]
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        found_config_maps, found_secrets = _of_environment(container)
        config_maps |= found_config_maps
        secrets |= found_secrets
    for volume in spec.get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            claims.add(volume["persistentVolumeClaim"]["claimName"])
        for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
            config_maps.update(_names(source, "configMap"))
            if "secret" in source:
                secrets.add(source["secret"].get("secretName") or source["secret"].get("name", ""))
            if "serviceAccountToken" in source:
                tokens.add(token_key(source["serviceAccountToken"]))
    return References(frozenset(config_maps - {""}), frozenset(secrets - {""}), frozenset(tokens), frozenset(claims))


def names_sources(container: Json) -> bool:
    """Whether the container's environment is made of ConfigMaps or Secrets."""
    return any(_of_environment(container))


def token_key(projection: Json) -> TokenKey:
    """The key of the token of a serviceAccountToken projection: an empty audience is the API server's own, and a token is for
    3600 seconds unless it says otherwise."""
    return TokenKey(projection.get("audience", ""), projection.get("expirationSeconds") or 3600)


def _of_environment(container: Json) -> tuple[set[str], set[str]]:
    """ConfigMaps and Secrets."""
    config_maps: set[str] = set()
    secrets: set[str] = set()
    for source in container.get("envFrom") or ():
        config_maps.update(_names(source, "configMapRef"))
        secrets.update(_names(source, "secretRef"))
    for variable in container.get("env") or ():
        config_maps.update(_names(variable.get("valueFrom") or {}, "configMapKeyRef"))
        secrets.update(_names(variable.get("valueFrom") or {}, "secretKeyRef"))
    return config_maps, secrets


def _names(holder: Json, field: str) -> Iterator[str]:
    if field in holder:
        yield holder[field].get("name", "")
