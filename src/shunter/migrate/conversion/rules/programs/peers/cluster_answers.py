"""What programs ask the API server of the cluster for, as far as it answers with pods, what leads to them, or jobs: with kubectl,
by a path, or by a client of Python."""

from __future__ import annotations

import ast
import re

from shunter.api.late_patterns import late_pattern
from shunter.migrate.v1_texts.reference import ANY_KIND, ANY_PLURAL

_PODS = r"(?:pods?|po|endpoints?|ep|endpointslices?|services?|svc)"
"""What v1 and v2 make for a job, each in its own way."""
_ASKED = late_pattern(
    rf"(?:kubectl|oc)\b(?:[^\n]{{0,200}}?\s)?get\b[^\n]{{0,400}}?[\s/,](?:{_PODS}|(?i:{ANY_KIND}|{ANY_PLURAL}))(?![\w-])"
    rf"|[^\n]{{0,600}}/api/v1/(?:\S{{0,300}}/)?{_PODS}(?![\w-])|[^\n]{{0,600}}/apis/(?:kubeflow\.org|discovery\.k8s\.io)/"
)
_NUMBER = late_pattern(rf"(?i:\b(?:{ANY_KIND}|{ANY_PLURAL}))\b|\{{\{{\s*len\b|\brestartCount\b|\breplicas\b")
CALLS_CLUSTER = (
    r"(?:(?:list|read)_(?:namespaced_)?(?:pod|endpoints|endpoint_slice|service)(?:_for_all_namespaces|_status|_with_http_info)?"
    r"|(?:list|get)_(?:namespaced|cluster)_custom_object(?:_status)?)"
)
"""The functions of Kubernetes' own client."""
_CALLS = late_pattern(rf"{CALLS_CLUSTER}\Z")
_GETTERS = frozenset({"get", "list", "filter", "objects", "async_get", "async_list"})
_ARGUMENT = late_pattern(
    rf"\b(?:label_selector|labels|selector)=|/api/v1/\S{{0,300}}{_PODS}(?![\w-])|/apis/(?:kubeflow\.org|discovery\.k8s\.io)/"
)
"""What clients of other libraries, and those of HTTP, are given."""


def asks_cluster(command: str) -> bool:
    """Whether the command, as it is written from the program on, asks for pods, what leads to them, or jobs of v1."""
    return bool(_ASKED.match(re.sub(r"\\\n", "  ", command)))


def answers_a_number(written: str) -> bool:
    """Whether the answer of such a command or call may be a number itself: a field of a job, or what the server counts."""
    return bool(_NUMBER.search(written))


def calls_cluster(node: ast.Call, name: str) -> bool:
    """Whether the call, of the function of that name, asks for such objects."""
    is_watch = name == "stream" and bool(node.args) and bool(_CALLS.search(ast.unparse(node.args[0])))
    return bool(_CALLS.match(name)) or is_watch or (name in _GETTERS and bool(_ARGUMENT.search(ast.unparse(node))))
