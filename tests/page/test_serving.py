"""A page that is served until it is asked to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from shunter.kube.kubeconfig import Connection
from shunter.page.serving import LocalOptions, served_here
from shunter.page.views.view import PageOptions

pytestmark = pytest.mark.integration


def test_a_signal_that_comes_once_the_link_is_told_stops_the_page_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "setswitchinterval", lambda seconds: None)
    page = PageOptions(cluster="c")
    options = LocalOptions(Connection(server="https://127.0.0.1:1"), page, 0, tmp_path / "page.json")

    try:
        asyncio.run(served_here(options, lambda record, port: os.kill(os.getpid(), signal.SIGINT)))
    except KeyboardInterrupt:
        pytest.fail("the signal came before anybody waited for it")
    assert not options.record.exists()
