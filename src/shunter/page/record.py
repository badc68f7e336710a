"""Where the page of this user is, for other commands: a file that only the user can read, locked while the page is up."""

from __future__ import annotations

import contextlib
import fcntl
import html
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from shunter.page.access.guard import new_code


class PageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the file."""

    url: str
    cluster: str
    key: bytes
    """What login codes are made with."""

    def login_url(self) -> str:
        """Logs one browser in, within a minute."""
        return f"{self.url}/open?code={new_code(self.key, time.time())}"


def opener(url: str) -> str:
    """HTML that leads a browser to the address. In a file that only the user can read: what stands in the command line of a
    browser can be read by every user of the machine."""
    found = html.escape(url)
    return (
        f'<!doctype html><meta charset="utf-8"><title>Shunter</title><meta http-equiv="refresh" content="0; url={found}">'
        f'<p><a href="{found}">Open the web page of Shunter</a></p>\n'
    )


@contextlib.contextmanager
def recorded(path: Path, record: PageRecord) -> Iterator[None]:
    """While the page is up. Of two pages with one file the later stands in it."""
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
    """That of a page that is up; None where none is (the kernel drops its lock however it ends)."""
    with contextlib.suppress(OSError, msgspec.DecodeError), open(path, "rb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return msgspec.json.decode(handle.read(), type=PageRecord)
    return None
