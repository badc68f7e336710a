"""Why no connection came about, in the words of Go's net package, which people know from Kubernetes."""

from __future__ import annotations

import os


def dial_error(address: str, error: OSError) -> str:
    """`dial tcp HOST:PORT: connect: connection refused`."""
    if isinstance(error, TimeoutError):
        return f"dial tcp {address}: i/o timeout"
    return f"dial tcp {address}: {f'connect: {system_error(error)}' if error.errno else error}"


def system_error(error: OSError) -> str:
    """The system's words for an error, without what Python adds."""
    number = error.errno or 0
    return os.strerror(number).lower() if number > 0 else str(error)
