"""Sending a review to a webhook: kept connections to each of them, and failures in the words of Go's HTTP client."""

from __future__ import annotations

import asyncio
import base64
import ssl
from typing import NamedTuple
from urllib.parse import urlsplit

from shunter.cluster.dial_errors import dial_error
from shunter.kube.http.client import Answer, HttpClient
from shunter.kube.http.connection import Origin
from shunter.kube.tls.certificates import verifying

_HEADERS = (("Content-Type", "application/json"), ("Accept", "application/json"))
_CONNECT_SECONDS = 30.0
"""The review's own time-out is shorter."""

_GO_WORDS = dict.fromkeys((18, 19, 20, 21), "x509: certificate signed by unknown authority")
"""What Go's crypto/tls says where OpenSSL finds no issuer, by the codes of X509_verify_cert_error."""


class CallError(Exception):
    """The webhook gave no usable answer."""


class Destination(NamedTuple):
    """Where a webhook listens, and how it proves that it is the one."""

    url: str
    server_name: str = ""
    """The name that its certificate must have, when that is not the URL's host."""
    bundle: str = ""
    """Base64 of the authorities that may have signed it, PEM; the system's when empty."""


class WebhookCalls:
    """One HTTP client for each server and trust."""

    def __init__(self) -> None:
        self._clients: dict[tuple[str, str, str], HttpClient] = {}
        self._contexts: dict[str, ssl.SSLContext] = {}

    def close(self) -> None:
        """Cuts all connections, also those on which an answer is awaited."""
        for client in self._clients.values():
            client.close()

    async def post(self, where: Destination, review: bytes, *, seconds: float) -> Answer:
        """The answer, whatever its status. Raises CallError."""
        url = urlsplit(where.url)
        target = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
        try:
            async with asyncio.timeout(seconds):
                return await self._client(where).request("POST", target, _HEADERS, review, seconds=seconds)
        except TimeoutError:
            why = "context deadline exceeded"
        except ssl.SSLCertVerificationError as error:
            what = _GO_WORDS.get(error.verify_code, error.verify_message)
            why = f"tls: failed to verify certificate: {what}"
        except ssl.SSLError as error:
            why = f"tls: {error.reason or error}"
        except OSError as error:
            why = dial_error(url.netloc, error)
        raise CallError(f'failed to call webhook: Post "{where.url}": {why}')

    def _client(self, where: Destination) -> HttpClient:
        url = urlsplit(where.url)
        key = (url.netloc, where.server_name, where.bundle)
        client = self._clients.get(key)
        if client is None:
            origin = Origin(url.hostname or "", url.port or 443, self._context(where.bundle), where.server_name)
            client = self._clients[key] = HttpClient(origin, connect_seconds=_CONNECT_SECONDS)
        return client

    def _context(self, bundle: str) -> ssl.SSLContext:
        if bundle not in self._contexts:
            try:
                self._contexts[bundle] = verifying(base64.b64decode(bundle))
            except (ValueError, ssl.SSLError) as error:
                raise CallError(f"could not get REST client: unable to load root certificates: {error}") from None
        return self._contexts[bundle]
