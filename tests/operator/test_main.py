"""The operator as a child process: options arrive, problems are said in one line."""

from pathlib import Path

import pytest

from shunter.operator import __main__ as child
from shunter.operator.process import OperatorOptions


def test_options_arrive_with_their_types(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[OperatorOptions] = []
    monkeypatch.setattr(child, "serve", served.append)
    assert child.main('{"kubeconfig": "/k", "namespaces": ["a"], "leader_elect": false}') == 0
    assert served == [OperatorOptions(kubeconfig=Path("/k"), namespaces=("a",), leader_elect=False)]


def test_a_problem_is_said_in_one_line_and_by_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert child.main(f'{{"kubeconfig": "{tmp_path}/none"}}') != 0
    assert f"{tmp_path}/none" in capsys.readouterr().err.splitlines()[-1]
