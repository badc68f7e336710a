"""Logs of our processes: one line per record on stderr, `TIME LEVEL COMPONENT message key=value ...`.

Write `log.info("pod created", extra={"pod": key})`; whatever stands in `extra` becomes key=value. A traceback follows on lines of
its own, indented.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from shunter.errors import InputError

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
_PACKAGE = "shunter."


class LineFormatter(logging.Formatter):
    """A record as one line."""

    def format(self, record: logging.LogRecord) -> str:
        """`TIME LEVEL COMPONENT message key=value ...`, in UTC with milliseconds; line breaks in the message are escaped."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        message = record.getMessage().replace("\n", "\\n")
        fields = "".join(f" {key}={_value(value)}" for key, value in vars(record).items() if key not in _STANDARD)
        line = f"{moment} {record.levelname:<7} {record.name.removeprefix(_PACKAGE)} {message}{fields}"
        if record.exc_info:
            line += "\n" + "\n".join(f"    {part}" for part in self.formatException(record.exc_info).split("\n"))
        return line


def set_up(level: str = "info") -> None:
    """Sends all records of `level` and above to stderr; InputError for a level that does not exist."""
    if level.lower() not in LEVELS:
        raise InputError(f"{level!r} is not a log level.", f"Levels are {', '.join(LEVELS)}.")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS[level.lower()])


def _value(value: object) -> str:
    """Quoted only where a reader, or awk, would be misled otherwise."""
    text = str(value)
    return text if text and not any(character in text for character in ' "=\n\t') else json.dumps(text, ensure_ascii=False)
