"""The report as JSON, for programs: the contents as they are. docs/migration/report.schema.json describes them."""

from __future__ import annotations

import msgspec

from shunter.api.meta import Json
from shunter.migrate.survey.report.contents import SCHEMA, Contents


def written(contents: Contents) -> str:
    """The report as JSON that `schema` describes; ends in a line break."""
    return msgspec.json.format(msgspec.json.encode(contents)).decode() + "\n"


def schema() -> Json:
    """JSON Schema (2020-12) of what is written."""
    described = msgspec.json.schema(Contents)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA, **described}
