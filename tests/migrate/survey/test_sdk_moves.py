"""The table of SDK calls against the SDKs themselves, as they are installed."""

from __future__ import annotations

import ast
import importlib
import inspect

import pytest
from kubeflow.trainer import TrainerClient
from kubeflow.training import TrainingClient

from shunter.migrate.survey.sdk_moves import COUNTERPARTS, Counterpart, counterpart_of

pytestmark = pytest.mark.slow  # imports the SDKs

IDS = [counterpart.calls[0] for counterpart in COUNTERPARTS]


def test_every_public_call_of_the_v1_client_has_a_move() -> None:
    public = {name for name, _ in inspect.getmembers(TrainingClient, inspect.isfunction) if not name.startswith("_")}
    assert public | {"TrainingClient"} == {call for counterpart in COUNTERPARTS for call in counterpart.calls}


@pytest.mark.parametrize("counterpart", COUNTERPARTS, ids=IDS)
def test_the_code_before_calls_what_it_is_about(counterpart: Counterpart) -> None:
    assert any(call in counterpart.before for call in counterpart.calls) or counterpart.calls[0] in counterpart.before
    check(counterpart.before, TrainingClient)


@pytest.mark.parametrize("counterpart", COUNTERPARTS, ids=IDS)
def test_the_code_after_fits_the_v2_sdk(counterpart: Counterpart) -> None:
    check(counterpart.after, TrainerClient)


def check(code: str, client: type) -> None:
    """Imported names exist; calls of them and of the client take the arguments that they are given."""
    known: dict[str, object] = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module or "")
            known |= {alias.name: getattr(module, alias.name) for alias in node.names}
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Call):
            continue
        called = None
        if isinstance(node.func, ast.Name):
            called = known.get(node.func.id)
        elif isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "client":
            called = getattr(client, node.func.attr)
        if called is not None:
            itself = [] if inspect.isclass(called) else [None]
            names = {keyword.arg: None for keyword in node.keywords if keyword.arg}
            inspect.signature(called).bind(*itself, *([None] * len(node.args)), **names)  # type: ignore[arg-type]


def test_a_call_that_v1_does_not_have_has_no_move() -> None:
    assert counterpart_of("frobnicate") is None
    assert counterpart_of("is_job_failed") == counterpart_of("get_job_conditions")
