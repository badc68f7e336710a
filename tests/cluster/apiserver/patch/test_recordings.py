"""Every patch recorded from a real kube-apiserver, applied again: the same object comes out, or the same refusal."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver.definitions import definitions
from shunter.cluster.apiserver.patch import json_patch, strategic
from shunter.cluster.apiserver.patch.errors import PatchError

VECTORS = Path(__file__).parent / "vectors"
SCHEMA = {"$ref": "#/components/schemas/io.k8s.api.apps.v1.Deployment"}
FILLED_IN = {
    *("imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy", "protocol", "resources", "defaultMode"),
    *("strategy", "rollingUpdate", "type", "replicas", "progressDeadlineSeconds", "revisionHistoryLimit", "template"),
}
"""What the real server defaults or drops after the patch; not this room's part."""


INAPPLICABLE = "the server rejected our request due to an error in our request"
"""Other refusals with code 422 are those of decoding or validating the patched object; they are not this room's part."""


def recordings(format: str) -> list[Any]:
    recorded = json.loads((VECTORS / f"{format}.json").read_text())
    return [
        pytest.param(recorded["document"], case, id=f"{number}-{json.dumps(case['patch'])[:90]}")
        for number, case in enumerate(recorded["cases"])
        if case["code"] != 422 or case["answer"]["message"] == INAPPLICABLE
    ]


@pytest.mark.parametrize(("document", "case"), recordings("strategic"))
def test_strategic_merge_patch_ends_as_on_a_real_server(document: Json, case: Json) -> None:
    before = copy.deepcopy([document, case["patch"]])
    check(case, lambda: strategic.apply(document, case["patch"], SCHEMA, definitions()))
    assert [document, case["patch"]] == before


@pytest.mark.parametrize(("document", "case"), recordings("json"))
def test_json_patch_ends_as_on_a_real_server(document: Json, case: Json) -> None:
    before = copy.deepcopy([document, case["patch"]])
    check(case, lambda: json_patch.apply(document, case["patch"]))
    assert [document, case["patch"]] == before


def check(case: Json, patched: Any) -> None:
    answer = case["answer"]
    try:
        result = patched()
    except PatchError as refusal:
        refused = refusal.status()
        assert {name: refused.get(name) for name in ("code", "reason", "message", "details")} == {
            name: answer.get(name) for name in ("code", "reason", "message", "details")
        }
        return
    assert case["code"] == 200, answer
    assert without_filled_in(result, result, answer) == without_filled_in(answer, result, answer)


def without_filled_in(value: Any, ours: Any, real: Any) -> Any:
    """Less what only one side has because of defaults, and what Go leaves out: unknown fields, nulls, empty containers."""
    if isinstance(value, dict):
        parts = {}
        for name, part in value.items():
            if name in FILLED_IN and not (name in at(ours) and name in at(real)):
                continue
            if name.startswith("$") or name == "unknown":
                continue
            parts[name] = without_filled_in(part, at(ours).get(name), at(real).get(name))
        return {name: part for name, part in parts.items() if part is not None and part not in ({}, [], "")}
    if isinstance(value, list):
        both = [(ours or [])[index : index + 1] + (real or [])[index : index + 1] for index in range(len(value))]
        return [
            without_filled_in(part, pair[0] if pair else None, pair[-1] if pair else None)
            for part, pair in zip(value, both, strict=True)
        ]
    return value


def at(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
