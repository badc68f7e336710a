"""Logs of containers, written and read."""

from __future__ import annotations

from pathlib import Path

from shunter.cluster.node.launch.log_writer import LogWriter
from shunter.cluster.node.server.logs import LogOptions, read_log


async def text(path: Path, options: LogOptions) -> str:
    return b"".join([block async for block in read_log(path, options, is_over=lambda: True)]).decode()


def written(path: Path, *chunks: bytes, max_bytes: int = 1 << 20) -> None:
    writer = LogWriter(str(path), max_bytes=max_bytes)
    for chunk in chunks:
        writer.write("stdout", chunk)
    writer.close()
