"""Reports to the trainer's status server from inside a pod that has a way to it: best effort, never in the way."""

from __future__ import annotations

import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path

from shunter.initializers.progress import Report

SECONDS = 5.0
PAUSE_SECONDS = 60.0
"""Without reports after one that got no answer: each may hold up the fetch for `SECONDS`."""
_PREFIX = "KUBEFLOW_TRAINER_SERVER"


def reporter(environment: Mapping[str, str]) -> Report:
    """Sends reports; does nothing in a pod without the address of a server."""
    url, token, authority = (environment.get(f"{_PREFIX}_{name}", "") for name in ("URL", "TOKEN", "CA_CERT"))
    if not url or not token:
        return lambda percentage, left: None

    silent_until = 0.0

    def report(percentage: int | None, left: int | None) -> None:
        nonlocal silent_until
        if time.monotonic() < silent_until and percentage != 100:
            return
        status: dict[str, object] = {"lastUpdatedTime": datetime.now(UTC).isoformat()}
        if percentage is not None:
            status["progressPercentage"] = percentage
        if left is not None:
            status["estimatedRemainingSeconds"] = left
        body = json.dumps({"trainerStatus": status}).encode()
        try:
            headers = {"Authorization": f"Bearer {Path(token).read_text().strip()}", "Content-Type": "application/json"}
            trusted = ssl.create_default_context(cafile=authority or None)
            # As `certificates.verifying`, which initializers do not have: Python 3.13 asks for what many certificates lack.
            trusted.verify_flags = (trusted.verify_flags & ~ssl.VERIFY_X509_STRICT) | ssl.VERIFY_X509_PARTIAL_CHAIN
            request = urllib.request.Request(url, data=body, headers=headers)
            urllib.request.urlopen(request, timeout=SECONDS, context=trusted).close()
        except urllib.error.HTTPError:
            return
        except (OSError, HTTPException):
            # A fetch must not fail because its reports are not received.
            silent_until = time.monotonic() + PAUSE_SECONDS

    return report
