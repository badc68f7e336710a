"""Every answer equals the one that a real kube-apiserver 1.36 gave to the same request (answers/*.yaml)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cluster.apiserver.http_client import Api
from cluster.apiserver.recorded_answers import play

_ANSWERS = Path(__file__).parent / "answers"


@pytest.mark.parametrize("case", sorted(path.stem for path in _ANSWERS.glob("*.yaml")))
async def test_answers_equal_those_of_a_real_server(case: str, api: Api) -> None:
    recorded = yaml.load((_ANSWERS / f"{case}.yaml").read_text(), yaml.CSafeLoader)
    namespace = f"rec-{case}"
    await api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    for definition in recorded.get("definitions", ()):
        await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    answers = await play(api.session, recorded, namespace)
    different = [
        f"{request['method']} {request['path']} {request.get('body', '')}\n  wanted {request['answer']}\n  got    {answer}"
        for request, answer in zip(recorded["requests"], answers, strict=True)
        if request["answer"] != answer
    ]
    assert not different, "\n".join(different)
