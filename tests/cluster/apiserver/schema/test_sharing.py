"""Equal parts of schemas are held once."""

import json

from shunter.cluster.apiserver.schema.sharing import shared

TEMPLATE = '{"type": "object", "properties": {"replicas": {"type": "integer", "minimum": 1}}, "required": ["replicas"]}'


def test_what_is_equal_is_one_object_wherever_it_stands() -> None:
    first = shared({"spec": json.loads(TEMPLATE)})
    second = shared({"status": [json.loads(TEMPLATE)]})
    assert first == {"spec": json.loads(TEMPLATE)}
    assert second == {"status": [json.loads(TEMPLATE)]}
    assert first["spec"] is second["status"][0]


def test_what_json_tells_apart_stays_apart() -> None:
    values = [1, 1.0, True, "1", None, [1], {"1": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1}]
    assert [json.dumps(shared(value)) for value in values] == [json.dumps(value) for value in values]
