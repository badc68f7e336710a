"""The certificate that a process serves with: one TLS context for all its servers, which may be given another one at any time.

A pair, or a directory with tls.crt and tls.key that is read again whenever it changes, as cert-manager's Secrets do. Connections
that are open keep the certificate they began with.
"""

from __future__ import annotations

import asyncio
import ssl
from logging import getLogger
from pathlib import Path
from typing import NamedTuple

from shunter.errors import EnvironmentProblem
from shunter.kube.tls.certificates import KeyPair, load_pair

log = getLogger(__name__)

RELOAD_SECONDS = 5.0

_OLD_VERSIONS = ("VersionTLS10", "VersionTLS11")
_CIPHERS_OF_TLS_1_3 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
_CIPHERS = {
    f"TLS_ECDHE_{kind}_WITH_{suite}": f"ECDHE-{kind}-{name}"
    for kind in ("ECDSA", "RSA")
    for suite, name in (
        ("AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305"),
        ("CHACHA20_POLY1305", "CHACHA20-POLY1305"),
    )
}
"""Go's names, which are IANA's, and OpenSSL's; those without forward secrecy or authenticated encryption are not here."""


class TlsPolicy(NamedTuple):
    """TLS versions and cipher suites by Go's names; unknown ones have no effect."""

    min_version: str = ""
    cipher_suites: tuple[str, ...] = ()

    @property
    def version(self) -> ssl.TLSVersion:
        """The lowest that is agreed to: TLS 1.3 where that is asked for, else 1.2, also where an older one is."""
        return ssl.TLSVersion.TLSv1_3 if self.min_version == "VersionTLS13" else ssl.TLSVersion.TLSv1_2

    @property
    def ciphers(self) -> str:
        """The ciphers of TLS 1.2, by OpenSSL's names; empty for the default. Those of TLS 1.3 cannot be chosen, as in Go."""
        return ":".join(name for suite in self.cipher_suites if (name := _CIPHERS.get(suite)))

    @property
    def remarks(self) -> list[str]:
        """What has no effect, and why."""
        found = []
        if self.min_version in _OLD_VERSIONS:
            found.append(f"minVersion: {self.min_version} is too old, VersionTLS12 is the least")
        elif self.min_version not in ("", "VersionTLS12", "VersionTLS13"):
            found.append(f"minVersion: {self.min_version} is not known")
        strangers = [suite for suite in self.cipher_suites if suite not in _CIPHERS and suite not in _CIPHERS_OF_TLS_1_3]
        return [*found, *(f"cipherSuites: {suite} is not known, or not safe" for suite in strangers)]


class ServingTls:
    """Handshakes fail until the first certificate is there."""

    def __init__(self, policy: TlsPolicy = TlsPolicy()) -> None:  # noqa: B008 -- a value
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.minimum_version = policy.version
        if policy.ciphers:
            self.context.set_ciphers(policy.ciphers)
        self._source: KeyPair | Path | None = None
        self._loaded: tuple[int, ...] = ()
        self._pair: KeyPair | None = None

    @property
    def certificate(self) -> bytes:
        """What is served, PEM; empty while there is none."""
        return self._pair.certificate if self._pair else b""

    def use(self, source: KeyPair | Path) -> None:
        """Serves with this from now on. EnvironmentProblem when it cannot be loaded; what was served before is then served on."""
        before, self._source = self._source, source
        try:
            if source != before:
                self._load(source)
        except EnvironmentProblem:
            self._source = before
            raise

    async def follow(self) -> None:
        """Reloads files whenever they change, until cancelled."""
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            if not isinstance(self._source, Path) or _stamp(self._source) == self._loaded:
                continue
            try:
                self._load(self._source)
            except EnvironmentProblem as error:
                # Half a renewal: the other file follows.
                log.warning("%s", error)
            else:
                log.info("reloaded the serving certificate")

    def _load(self, source: KeyPair | Path) -> None:
        stamp = _stamp(source) if isinstance(source, Path) else ()
        try:
            pair = source if isinstance(source, KeyPair) else KeyPair(*(file.read_bytes() for file in _files(source)))
            # First where it does no harm: a pair that does not fit would leave the serving context without its key.
            load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), *pair)
            load_pair(self.context, *pair)
        except (OSError, ssl.SSLError) as error:
            where = "" if isinstance(source, KeyPair) else f" from {source}"
            raise EnvironmentProblem(
                f"The webhook server's certificate cannot be loaded{where}: {error}.",
                "The directory must hold tls.crt and tls.key, in PEM, that belong together.",
            ) from error
        self._loaded = stamp
        self._pair = pair


def _stamp(directory: Path) -> tuple[int, ...]:
    return tuple(file.stat().st_mtime_ns for file in _files(directory) if file.exists())


def _files(directory: Path) -> tuple[Path, Path]:
    return directory / "tls.crt", directory / "tls.key"
