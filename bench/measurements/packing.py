"""What `shunter run` does with a directory of many files before it sends them: lists, reads and packs it, in one process.

The files are Python's own standard library, cut to the size: what compresses to nothing would cost nothing.
"""

from __future__ import annotations

import statistics
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

from figures import Figure
from shunter.launch.code.tree import packed_code


def measure(settings: dict[str, Any]) -> list[Figure]:
    count, size = settings["files"], settings["bytes"] // settings["files"]
    source = b"".join(path.read_bytes() for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")))
    with tempfile.TemporaryDirectory() as directory:
        for number in range(count):
            folder = Path(directory, f"package_{number % 20}")
            folder.mkdir(exist_ok=True)
            begin = number * size % (len(source) - size)
            (folder / f"module_{number}.py").write_bytes(source[begin : begin + size])
        seconds, archives = [], []
        for _ in range(settings["rounds"]):
            begun = time.perf_counter()
            archives.append(packed_code(Path(directory)))
            seconds.append(time.perf_counter() - begun)
    digests = {archive.digest for archive in archives}
    note = f"{count} files, {count * size / 1e6:.1f} MB, packed {len(archives[0].archive) / 1e6:.1f} MB"
    return [
        Figure("packing", statistics.median(seconds), "s", note),
        Figure("archives of an unchanged tree", len(digests), "", "what is there already is not sent again"),
    ]
