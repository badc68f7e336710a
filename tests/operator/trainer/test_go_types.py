"""Wrong types in a TrainJob get upstream's 400 from its webhook where the webhook looks, and the schema's 422 elsewhere."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.operator.trainer.go_types import go_decode_error


@pytest.mark.parametrize(
    ("spec", "is_refused"),
    [
        ({"trainer": {"numNodes": "two"}}, True),
        ({"trainer": {"env": [{"name": "A", "value": 1}]}}, True),
        ({"trainer": {"env": [{"name": "A", "valueFrom": {"fieldRef": 5}}]}}, False),
    ],
    ids=["a number", "a variable", "the source of a variable"],
)
def test_what_the_webhook_says_of_wrong_types(spec: Json, *, is_refused: bool) -> None:
    assert bool(go_decode_error({"spec": spec})) is is_refused
