"""The certificate that a process serves with: one TLS context for all its servers, which may be given another one at any time.

A pair, or a directory with tls.crt and tls.key that is read again whenever it changes, as cert-manager's Secrets do. Connections
that are open keep the certificate they began with.
"""

from __future__ import annotations

import asyncio
import ssl
from logging import getLogger
from pathlib import Path

from shunter.errors import EnvironmentProblem
from shunter.kube.certificates import KeyPair, load_pair

log = getLogger(__name__)

RELOAD_SECONDS = 5.0


class ServingTls:
    """Handshakes fail until the first certificate is there."""

    def __init__(self) -> None:
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
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
            pair = source if isinstance(source, KeyPair) else _read_pair(source)
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
    files = (directory / "tls.crt", directory / "tls.key")
    return tuple(file.stat().st_mtime_ns for file in files if file.exists())


def _read_pair(directory: Path) -> KeyPair:
    return KeyPair((directory / "tls.crt").read_bytes(), (directory / "tls.key").read_bytes())
