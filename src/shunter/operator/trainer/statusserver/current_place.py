"""Where one replica of the status server is now: the `place` that is written into pods."""

from __future__ import annotations

from collections.abc import Callable

from shunter.operator.trainer.statusserver.place import StatusServerPlace


class CurrentPlace:
    """The address and CA of the status server of one replica. The CA is empty until the certificate exists, and changes when it
    is renewed."""

    def __init__(self, url: str) -> None:
        self.place = StatusServerPlace(url, "")
        self._callbacks: list[Callable[[], object]] = []

    def on_change(self, callback: Callable[[], object]) -> None:
        """Calls `callback` at each change of the authorities from now on."""
        self._callbacks.append(callback)

    def trust(self, authorities: bytes) -> None:
        """These (PEM) are to be trusted from now on."""
        place = self.place._replace(authorities=authorities.decode())
        if place != self.place:
            self.place = place
            for callback in self._callbacks:
                callback()
