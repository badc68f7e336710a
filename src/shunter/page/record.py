"""The file by which other commands find this user's page: readable only by the user, and locked while the page is served."""

from __future__ import annotations

import contextlib
import fcntl
import html
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from shunter.file_locks import is_held
from shunter.page.access.guard import new_code


class PageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file."""

    url: str
    cluster: str
    key: bytes
    """Signs login codes."""

    def login_url(self) -> str:
        """An address that logs one browser in, valid for a minute."""
        return f"{self.url}/open?code={new_code(self.key, time.time())}"


def opener(url: str) -> str:
    """HTML that redirects a browser to the address. It is opened as a file that only the user can read, because every user of the
    machine can read the command line of a browser."""
    found = html.escape(url)
    return (
        f'<!doctype html><meta charset="utf-8"><title>Shunter</title><meta http-equiv="refresh" content="0; url={found}">'
        f'<p><a href="{found}">Open the web page of Shunter</a></p>\n'
    )


@contextlib.contextmanager
def recorded(path: Path, record: PageRecord) -> Iterator[None]:
    """Keeps the record in the file within the block. If two pages use the same file, it names the later one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as handle:
        handle.write(msgspec.json.encode(record))
        handle.flush()
        fcntl.flock(handle, fcntl.LOCK_EX)
        fresh.replace(path)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(handle.fileno()), path.stat()):
                    path.unlink()


def page_record(path: Path) -> PageRecord | None:
    """The record of a page that is served now; None if there is none. The kernel releases the lock however its process ends."""
    with contextlib.suppress(OSError, msgspec.DecodeError), open(path, "rb") as handle:
        return msgspec.json.decode(handle.read(), type=PageRecord) if is_held(handle) else None
    return None
