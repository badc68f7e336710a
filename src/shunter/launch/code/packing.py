"""A tree of files as one archive: the same bytes for the same files, whatever their times, owners or order on the disk."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from shunter.api.formats.counts import count
from shunter.errors import InputError

PIECE_BYTES = 900 * 1024
"""What goes into one ConfigMap, which holds 1 MiB."""
PACKED_LIMIT = 8 * PIECE_BYTES
"""Bytes of the archive. Each job has its code in etcd, which is not made for more."""
UNPACKED_LIMIT = 256 * 1024 * 1024
"""Bytes of all files together: nothing beyond it is even read."""


class Entry(NamedTuple):
    """A file, or a link within the tree, by its path below the root."""

    name: str
    content: bytes = b""
    is_executable: bool = False
    link: str = ""


class TooLarge(Exception):
    """The archive would have more than PACKED_LIMIT bytes."""


def archive(entries: Iterable[Entry]) -> bytes:
    """A tar.gz of the entries, in the order of their names if they come so. Takes them one by one, so that they need not be in
    memory together. Raises TooLarge as soon as it is."""
    packed = _Limited()
    with (
        gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=6, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for entry in entries:
            member = tarfile.TarInfo(entry.name)
            if entry.link:
                member.type, member.linkname, member.mode = tarfile.SYMTYPE, entry.link, 0o777
            else:
                member.size, member.mode = len(entry.content), 0o755 if entry.is_executable else 0o644
            tar.addfile(member, io.BytesIO(entry.content))
    return packed.getvalue()


class _Limited(io.BytesIO):
    def write(self, content: object, /) -> int:
        written = super().write(content)  # type: ignore[arg-type]
        if self.tell() > PACKED_LIMIT:
            raise TooLarge
        return written


def too_large(root: str, sizes: Mapping[str, int], *, packed: bool) -> InputError:
    """The error that names how much there is, how much may be, and the five largest files. `packed` is whether it is the archive
    that is too large, and not the files."""
    largest = sorted(sizes, key=lambda name: (-sizes[name], name))[:5]
    shown = ", ".join(f"{name} ({shown_bytes(sizes[name])})" for name in largest)
    what = f"the {count(len(sizes), 'file')} in {root} {'has' if len(sizes) == 1 else 'have'} {shown_bytes(sum(sizes.values()))}"
    limit = f"more than {shown_bytes(PACKED_LIMIT)} when packed" if packed else f"more than {shown_bytes(UNPACKED_LIMIT)}"
    return InputError(
        f"the code does not fit: {what}, {limit}. Largest: {shown}.",
        "Leave files out with .gitignore or .shunterignore, choose a smaller --workdir, or put the code into an image: "
        "--image IMAGE --no-code.",
    )


def shown_bytes(size: float) -> str:
    """`38 KB`, `1.2 MB`, `12.3 GB`: decimal units, as disks are sold."""
    if size < 1000:
        return count(int(size), "byte")
    place = next((place for place in (1, 2, 3) if size < 999.5 * 1000**place), 4)
    amount, unit = size / 1000**place, ("KB", "MB", "GB", "TB")[place - 1]
    return f"{amount:.1f} {unit}" if amount < 9.95 or place > 2 else f"{amount:.0f} {unit}"
