"""Helm templates: told apart from YAML before anybody tries to read them as such."""

from __future__ import annotations

import re

_ACTION = re.compile(
    r"\{\{-?\s*(?:[.$\"`(]|/\*|(?:if|else|end|range|with|define|block|template|include|tpl|toYaml|toJson|quote|squote|default|printf|"
    r"required|lookup|add|int|int64|fromYaml|coalesce|ternary|trunc|indent|nindent|lower|upper|not|and|or|eq|list|dict)\b)"
)


def is_template(text: str) -> bool:
    """Whether Helm (or Go's text/template) has to fill it in. `{{inputs.parameters.x}}` of Argo Workflows and its like are plain
    text to YAML and to us."""
    return "{{" in text and _ACTION.search(text) is not None
