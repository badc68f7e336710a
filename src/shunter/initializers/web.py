"""http:// and https://: one file. What is there of it is gone on with when the server can, and still has the same version.

A checksum may be given with the address, as `#sha256=...`. ACCESS_TOKEN is sent as a bearer token, but not to where a redirect
leads.
"""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from posixpath import basename
from urllib.parse import quote, unquote, urldefrag, urlsplit, urlunsplit

from shunter.errors import EnvironmentProblem, InputError, ShunterError
from shunter.initializers.files import BLOCK, Advance, Checksum, RemoteFile, hexadecimal
from shunter.initializers.settings import Settings
from shunter.initializers.streams import OpenedStream, resume

SECONDS = 60.0
"""Without a byte, until a connection counts as broken."""

_CHECKSUM = re.compile(r"(sha256|sha1|md5)=([0-9a-f]+)")
_DIGEST = re.compile(r"sha-256=:?([A-Za-z0-9+/=]+?):?(?:,|$)", re.IGNORECASE)
_UNSENDABLE = re.compile("[^!-~]+")


class Web:
    """A fragment of the address, such as `#sha256=0123...`, is the checksum of the file, and is not sent."""

    def __init__(self, settings: Settings) -> None:
        url, fragment = urldefrag(settings.uri)
        self._url = _sendable(url)
        self._token = settings.access_token
        self._checksum: Checksum | None = None
        if fragment:
            match = _CHECKSUM.fullmatch(fragment)
            if match is None:
                raise InputError(f"The checksum {fragment!r} cannot be read.", "Write it like #sha256=0123...")
            self._checksum = Checksum(match[1], match[2])
        self._name = unquote(basename(urlsplit(self._url).path))
        if not self._name:
            raise InputError(f"{self._url} does not end with the name of a file.", "Name one file.")

    def files(self) -> list[RemoteFile]:
        """The one file, as the head of an answer describes it."""
        with self._answer({"Range": "bytes=0-0"}) as answer:
            head = answer.headers
            size = _total(head) if answer.status == 206 else _length(head)
            version = head.get("ETag") or head.get("Last-Modified") or ""
        return [RemoteFile(self._name, size, f"{version} {size}", self._checksum or _stated(head))]

    def fetch(self, file: RemoteFile, part: Path, advance: Advance) -> None:
        """Goes on with `part` only where the file has a date or an ETag that is not weak, and the server sends the rest; else
        from the beginning."""
        validator = file.version.rpartition(" ")[0]

        @contextmanager
        def open_at(offset: int) -> Iterator[OpenedStream]:
            # A weak ETag may not ask for a range.
            can_resume = offset and validator and not validator.startswith("W/")
            headers = {"Range": f"bytes={offset}-", "If-Range": validator} if can_resume else {}
            with self._answer(headers) as answer:
                yield OpenedStream(offset if answer.status == 206 else 0, _blocks(answer))

        resume(part, open_at, advance, size=file.size)

    @contextmanager
    def _answer(self, headers: dict[str, str]) -> Iterator[HTTPResponse]:
        request = urllib.request.Request(self._url, headers={"Accept-Encoding": "identity", **headers})
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                yield answer
        except urllib.error.HTTPError as error:
            raise _refusal(error) from error
        except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
            reason = getattr(error, "reason", None) or error
            said = getattr(reason, "strerror", None) or reason
            raise EnvironmentProblem(
                f"{urlsplit(self._url).netloc} cannot be reached: {said}.", "Look at the address, and at the pod's network."
            ) from error


def _refusal(error: urllib.error.HTTPError) -> ShunterError:
    said = f"the server answers {error.code} {error.reason}."
    match error.code:
        case 401 | 403:
            return InputError(said, "Give ACCESS_TOKEN in a Secret that secretRef of the TrainJob's initializer names.")
        case 404 | 410:
            return InputError(said, "Check the address: the file does not exist.")
        case code if code >= 500 or code in (408, 425, 429):
            return EnvironmentProblem(said, "Try again later.")
    return InputError(said, "Look at the address.")


def _sendable(url: str) -> str:
    """The URL with escapes for what people write in paths and HTTP does not carry: blanks, and letters beyond ASCII."""
    parts = urlsplit(url)
    path, query = (_UNSENDABLE.sub(lambda found: quote(found[0]), text) for text in (parts.path, parts.query))
    return urlunsplit(parts._replace(path=path, query=query))


def _blocks(answer: HTTPResponse) -> Iterator[bytes]:
    """Raises ConnectionError for all that befalls the connection: other OSErrors are the disk's."""
    try:
        while block := answer.read(BLOCK):
            yield block
    except OSError as error:
        raise ConnectionError(*error.args) from error


def _length(head: Message) -> int | None:
    text = head.get("Content-Length", "")
    return int(text) if text.isdecimal() else None


def _total(head: Message) -> int | None:
    """From `bytes 0-0/1234`."""
    text = head.get("Content-Range", "").rpartition("/")[2]
    return int(text) if text.isdecimal() else None


def _stated(head: Message) -> Checksum | None:
    """What the server itself says of the whole file (RFC 9530, RFC 3230)."""
    match = _DIGEST.search(head.get("Repr-Digest") or head.get("Digest") or "")
    return Checksum("sha256", hexadecimal(match[1])) if match else None
