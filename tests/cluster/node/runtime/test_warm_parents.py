"""A warm parent that failed is tried again, for what it lacked may be installed by then."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shunter.cluster.node.content.warm_start import Interpreter, interpreter
from shunter.cluster.node.runtime import warm_parents
from shunter.cluster.node.runtime.warm_parents import WarmParents

pytestmark = pytest.mark.integration


async def test_a_parent_that_failed_rests_before_it_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"PATH": os.path.dirname(sys.executable), "PYTHONPATH": str(tmp_path)}
    spec = {"level": "namespaces", "argv": ["python", "train.py"], "env": environment}
    python = interpreter("python", environment, level="namespaces", root="/")
    assert isinstance(python, Interpreter)
    parents = WarmParents(tmp_path / "log", None)
    await parents.prepare(python, ("late",))
    assert "No module named 'late'" in parents.find(spec, ("late",))[1]["cold"]
    (tmp_path / "late.py").write_text("")
    await parents.prepare(python, ("late",))
    assert "No module named 'late'" in parents.find(spec, ("late",))[1]["cold"], "each try costs an import"
    monkeypatch.setattr(warm_parents, "RETRY_SECONDS", 0.0)
    await parents.prepare(python, ("late",))
    found, _ = parents.find(spec, ("late",))
    assert found is not None
    parents.stop()
