"""When to try again what failed: 0.5 s after the first failure, doubling up to half a minute."""

from __future__ import annotations

FIRST_SECONDS = 0.5
MAX_SECONDS = 30.0


class RetryTimes:
    """Back-off by key. `now` is any clock in seconds."""

    def __init__(self) -> None:
        self._next: dict[str, tuple[float, float]] = {}

    def failed(self, key: str, now: float) -> None:
        """The key has to wait: FIRST_SECONDS, or twice as long as after its last failure, up to MAX_SECONDS."""
        _, delay = self._next.get(key, (0.0, FIRST_SECONDS / 2))
        delay = min(delay * 2, MAX_SECONDS)
        self._next[key] = (now + delay, delay)

    def succeeded(self, key: str) -> None:
        """The key need not wait, and its next failure counts as the first."""
        self._next.pop(key, None)

    def wait(self, key: str, now: float) -> float:
        """Seconds until the key may be tried; 0 or less means now."""
        return self._next[key][0] - now if key in self._next else 0.0

    def next_wait(self, now: float) -> float | None:
        """Seconds until the first key may be tried again; None when nothing failed."""
        return max(0.0, min(moment for moment, _ in self._next.values()) - now) if self._next else None
