"""The credentials for an API server: none, a token, a token file, a password, a client certificate, or an exec plugin's
answer."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from shunter.api.meta import Json, Struct
from shunter.errors import EnvironmentProblem, ShunterError
from shunter.kube.tls.certificates import load_pair

log = logging.getLogger(__name__)

FILE_AGE = 60.0
"""Seconds before a file is read again; the kubelet renews projected tokens, and others certificates, long before they expire."""

EXPIRY_MARGIN = timedelta(seconds=30)
"""An exec plugin's answer is renewed this long before it expires."""

EXEC_TIMEOUT = 60.0

Headers = Sequence[tuple[str, str]]


class ClientCertificate(NamedTuple):
    """PEM."""

    certificate: bytes
    key: bytes


class Credentials(Protocol):
    """What identifies us in a request."""

    async def headers(self) -> Headers:
        """The request headers that carry the identity; raises EnvironmentProblem when it cannot be had."""

    async def certificate(self) -> ClientCertificate | None:
        """The client certificate of the TLS connection, if that is how we identify."""

    async def refresh(self) -> bool:
        """Called after a 401: True when the next `headers` or `certificate` may answer something else."""


class StaticCredentials:
    """An identity that never changes: fixed headers (none, a token, a password), a client certificate, or both."""

    def __init__(self, headers: Headers = (), certificate: ClientCertificate | None = None) -> None:
        self._headers = headers
        self._certificate = certificate

    async def headers(self) -> Headers:
        """The given headers, for every request."""
        return self._headers

    async def certificate(self) -> ClientCertificate | None:
        """The one given, always; None without one."""
        return self._certificate

    async def refresh(self) -> bool:
        """False: what the server has refused stays refused."""
        return False


class TokenFile:
    """A bearer token that is renewed in a file by others, as the kubelet does for service accounts. While the file cannot be
    read, the token that was there goes on until the server refuses it."""

    def __init__(self, path: Path, token: str = "") -> None:
        """`token` is good as long as the file was never there."""
        self._path = path
        self._token = token
        self._read_at = -FILE_AGE
        self._was_read = False

    async def headers(self) -> Headers:
        """The token as a bearer, from a file that is read again after `FILE_AGE` seconds. EnvironmentProblem only where there is
        no earlier token to go on with."""
        if not self._token:
            self._token, self._read_at = self._read(), time.monotonic()
        elif time.monotonic() - self._read_at > FILE_AGE:
            self._read_at = time.monotonic()
            try:
                self._token = self._read()
            except EnvironmentProblem as problem:
                if self._was_read or self._path.exists():
                    log.warning("%s The previous token is used until the server rejects it.", problem.message)
        return bearer(self._token)

    async def certificate(self) -> ClientCertificate | None:
        """None: the token alone identifies."""
        return None

    async def refresh(self) -> bool:
        """Reads the file now: True when it holds another token than the one refused. EnvironmentProblem when it cannot be
        read."""
        before, self._token = self._token, ""
        return await self.headers() != bearer(before)

    def _read(self) -> str:
        try:
            token = self._path.read_text().strip()
        except OSError as error:
            raise EnvironmentProblem(f"The token file {self._path} cannot be read: {error.strerror}.") from error
        if not token:
            raise EnvironmentProblem(f"The token file {self._path} is empty.")
        self._was_read = True
        return token


class CertificateFiles:
    """A client certificate that is renewed in files by others, besides fixed headers."""

    def __init__(self, certificate: Callable[[], bytes], key: Callable[[], bytes], headers: Headers = ()) -> None:
        """`certificate` and `key` read what is there now, and raise ShunterError when they cannot."""
        self._certificate = certificate
        self._key = key
        self._headers = headers
        self._current = ClientCertificate(certificate(), key())
        self._read_at = time.monotonic()
        self._logged = ""

    async def headers(self) -> Headers:
        """The fixed ones given; only the certificate is read again."""
        return self._headers

    async def certificate(self) -> ClientCertificate | None:
        """The last good pair of certificate and key; after `FILE_AGE` seconds the files are read again."""
        if time.monotonic() - self._read_at > FILE_AGE:
            await self.refresh()
        return self._current

    async def refresh(self) -> bool:
        """Half a renewal, or files that are gone for a moment, change nothing: the next look sees the rest."""
        self._read_at = time.monotonic()
        before = self._current
        try:
            found = ClientCertificate(self._certificate(), self._key())
            load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), *found)
        except (ShunterError, ssl.SSLError) as error:
            why = error.message if isinstance(error, ShunterError) else f"certificate and key do not fit: {error}"
            if why != self._logged:
                log.warning("The client certificate was not renewed; the previous one is used until it expires: %s", why)
                self._logged = why
            return False
        self._current, self._logged = found, ""
        return found != before


class ExecPlugin:
    """An identity printed by a program (client.authentication.k8s.io), kept until it expires or the server refuses it."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        api_version: str = "client.authentication.k8s.io/v1",
        environment: Mapping[str, str] = {},
        cluster: Json | None = None,
        install_hint: str = "",
    ) -> None:
        self._command = command
        self._api_version = api_version
        self._environment = environment
        self._cluster = cluster
        self._install_hint = install_hint
        self._lock = asyncio.Lock()
        self._answer: ExecStatus | None = None

    async def headers(self) -> Headers:
        """The plugin's token as a bearer; none where it printed no token. Runs the plugin where there is no answer that lasts for
        `EXPIRY_MARGIN`; EnvironmentProblem when that fails."""
        status = await self._current()
        return bearer(status.token) if status.token else ()

    async def certificate(self) -> ClientCertificate | None:
        """The certificate and key that the plugin printed; None where it printed no certificate. Runs it as `headers` does."""
        status = await self._current()
        if not status.client_certificate_data:
            return None
        return ClientCertificate(status.client_certificate_data.encode(), status.client_key_data.encode())

    async def refresh(self) -> bool:
        """Always True: the answer is forgotten, and the plugin runs again when an identity is next asked for."""
        self._answer = None
        return True

    async def _current(self) -> ExecStatus:
        async with self._lock:
            if self._answer is None or self._answer.is_expired(datetime.now(UTC)):
                self._answer = await self._run()
            return self._answer

    async def _run(self) -> ExecStatus:
        spec: Json = {"interactive": False}
        if self._cluster is not None:
            spec["cluster"] = self._cluster
        info = {"apiVersion": self._api_version, "kind": "ExecCredential", "spec": spec}
        environment = {**os.environ, **self._environment, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
        name = self._command[0]
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
            )
        except OSError as error:
            raise EnvironmentProblem(
                f"The kubeconfig's credential plugin {name} cannot be started: {error.strerror}.", self._install_hint
            ) from error
        try:
            output, complaints = await asyncio.wait_for(process.communicate(), EXEC_TIMEOUT)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise EnvironmentProblem(
                f"The kubeconfig's credential plugin {name} gave no answer in {EXEC_TIMEOUT:.0f} seconds.",
                "It is run without a terminal: log in with it by hand first.",
            ) from None
        if process.returncode != 0:
            said = complaints.decode(errors="replace").strip()
            raise EnvironmentProblem(
                f"The kubeconfig's credential plugin {name} exited with {process.returncode}: {said or 'no message'}.",
                self._install_hint,
            )
        try:
            return msgspec.json.decode(output, type=ExecCredential).status
        except msgspec.DecodeError as error:
            raise EnvironmentProblem(f"The kubeconfig's credential plugin {name} printed no ExecCredential: {error}.") from error


class ExecStatus(Struct, frozen=True):
    """What a plugin answers: a token, a client certificate with its key (PEM), or both."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None

    def is_expired(self, now: datetime) -> bool:
        """Whether it expires within `EXPIRY_MARGIN`; never where it has no time."""
        return self.expiration_timestamp is not None and now >= self.expiration_timestamp - EXPIRY_MARGIN


class ExecCredential(Struct, frozen=True):
    """What an exec plugin prints (client.authentication.k8s.io); its version is not looked at."""

    status: ExecStatus


class Impersonated:
    """The identity of `inner`, asking to act as another user."""

    def __init__(self, inner: Credentials, user: str, *, uid: str = "", groups: Sequence[str] = ()) -> None:
        self._inner = inner
        self._headers = [("Impersonate-User", user), *(("Impersonate-Group", group) for group in groups)]
        if uid:
            self._headers.append(("Impersonate-Uid", uid))

    async def headers(self) -> Headers:
        """The headers of `inner`, then Impersonate-User, Impersonate-Group for each group, and Impersonate-Uid where there is
        one."""
        return [*await self._inner.headers(), *self._headers]

    async def certificate(self) -> ClientCertificate | None:
        """The client certificate of `inner`, which authenticates the request."""
        return await self._inner.certificate()

    async def refresh(self) -> bool:
        """Whether `inner` may have another identity; the user acted as stays the same."""
        return await self._inner.refresh()


def bearer(token: str) -> Headers:
    """`Authorization: Bearer TOKEN`, as the only header."""
    return (("Authorization", f"Bearer {token}"),)


def basic(username: str, password: str) -> Headers:
    """`Authorization: Basic ...` (RFC 7617), in UTF-8, as the only header."""
    encoded = base64.b64encode(f"{username}:{password}".encode()).decode()
    return (("Authorization", f"Basic {encoded}"),)
