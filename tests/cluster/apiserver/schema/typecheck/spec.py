"""A schema with a field of each type, for rules to read."""

from __future__ import annotations

from shunter.api.meta import Json

SPEC: Json = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "count": {"type": "integer"},
        "active": {"type": "boolean"},
        "when": {"type": "string", "format": "date-time"},
        "wait": {"type": "string", "format": "duration"},
        "data": {"type": "string", "format": "byte"},
        "port": {"x-kubernetes-int-or-string": True},
        "labels": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "string", "maxLength": 10}},
        "names": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 10}},
        "numbers": {"type": "array", "maxItems": 10, "items": {"type": "integer"}},
        "items": {
            "type": "array",
            "maxItems": 10,
            "items": {"type": "object", "properties": {"key": {"type": "string", "maxLength": 10}, "size": {"type": "integer"}}},
        },
        "sub": {"type": "object", "properties": {"deep": {"type": "object", "properties": {"leaf": {"type": "integer"}}}}},
        "anything": {"x-kubernetes-preserve-unknown-fields": True},
        "a-b": {"type": "string"},
    },
}
