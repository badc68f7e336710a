"""The inventory as JSON, for programs; docs/migration/inventory.schema.json describes it."""

from __future__ import annotations

import msgspec

from shunter import __version__
from shunter.api.meta import Json
from shunter.migrate.survey.inventory.fleet import Fleet

SCHEMA = "shunter.migrate.inventory/v1"


def written(fleet: Fleet) -> str:
    """The inventory as JSON that `schema` describes; ends in a line break."""
    document = {"schema": SCHEMA, "tool": f"shunter {__version__}", **msgspec.to_builtins(fleet)}
    return msgspec.json.format(msgspec.json.encode(document)).decode() + "\n"


def schema() -> Json:
    """JSON Schema (2020-12) of what is written."""
    (described,), components = msgspec.json.schema_components([Fleet], ref_template="#/$defs/{name}")
    components["Fleet"]["properties"] |= {"schema": {"const": SCHEMA}, "tool": {"type": "string"}}
    components["Fleet"]["required"] += ["schema", "tool"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA, **described, "$defs": components}
