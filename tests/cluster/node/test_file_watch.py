"""A directory is watched also where inotify has no more watches."""

from __future__ import annotations

import resource
from pathlib import Path

from shunter.cluster.node.file_watch import FileWatch


async def test_a_log_is_watched_also_where_nothing_is_left_to_watch_with(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        watch = FileWatch(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    with watch:
        await watch.changed(within=0.01)
