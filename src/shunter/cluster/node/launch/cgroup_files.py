"""The cgroups of a container, which its processes join themselves."""

from __future__ import annotations

import os
from collections.abc import Iterable


class CgroupFiles:
    """Opened `cgroup.procs` files, for a process that will not see the node's paths any more. Raises OSError."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._files = [(path, os.open(path, os.O_WRONLY | os.O_CLOEXEC)) for path in paths]

    def join(self) -> None:
        """Moves the calling process into all of the cgroups. Raises OSError with the path of the one that the kernel refuses."""
        for path, file in self._files:
            try:
                os.write(file, b"0")
            except OSError as error:
                raise OSError(error.errno, error.strerror, path) from None
