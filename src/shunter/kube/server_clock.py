"""The time by an API server's clock. Ages of what a cluster has written are false by a clock that differs from the cluster's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

WIDEST = 5.0
"""Seconds of one request from which its answer says too little about the clock."""
RESOLUTION = 1.0
"""Seconds: the header Date has whole ones."""


class ServerClock:
    """Learns from answers by how much the server's clock differs from this machine's."""

    def __init__(self) -> None:
        self._ahead = 0.0
        """Seconds; 0 while the clocks agree within the resolution."""
        self._last = ""

    def note(self, date: str, sent: float, received: float) -> None:
        """Takes the header Date of an answer, and when this machine sent the request and had the answer (seconds since 1970).
        Ignores a date that is none."""
        if not date or date == self._last or received - sent > WIDEST:
            return
        try:
            written = parsedate_to_datetime(date).timestamp()
        except (TypeError, ValueError, OverflowError):
            return
        self._last = date
        # Written at or after `sent`, at or before `received`, and cut to a whole second.
        least, most = written - received, written + RESOLUTION - sent
        self._ahead = 0.0 if least - RESOLUTION <= 0 <= most + RESOLUTION else (least + most) / 2

    def now(self) -> datetime:
        """The server's time; this machine's before the first answer."""
        return datetime.now(UTC) + timedelta(seconds=self._ahead)
