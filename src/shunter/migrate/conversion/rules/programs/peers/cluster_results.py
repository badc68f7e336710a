"""What programs ask the API server of the cluster for, as far as it answers with pods, what leads to them, or jobs: with kubectl,
by a path, or by a client of Python; and whether a program may ask for what the job's controllers make. Requests that name other
objects, other namespaces or labels of other pods get the same answer in v1 and in v2."""

from __future__ import annotations

import ast
import re
from itertools import islice

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.peers.peer_services import own_names
from shunter.migrate.conversion.rules.programs.texts import is_in_comment
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
CLIENT = late_pattern(
    r"(?P<command>(?<![\w./-])(?:[\w./-]*/)?(?:kubectl|oc(?=\s+(?:get|exec|logs|wait)\b))(?![\w./-]))"
    r"|(?P<library>\b(?:import|from)\s+(?:kubernetes|kubernetes_asyncio)\b)"
    r"|(?P<address>\bhttps?://kubernetes\.default\b|\bKUBERNETES_SERVICE_HOST\b|/serviceaccount/token\b)"
    r"|\b(?:import|from)\s+(?:lightkube|kr8s|pykube|kopf|dask_kubernetes)\b|\bKubernetesClusterResolver\b"
)
"""What asks the cluster: a command, a library, an address."""
_MOST = 100
"""Requests of one text that are looked into."""
_LONGEST = 400
"""Characters of a command that are looked into."""
_END = late_pattern(r"(?<!\\)\n|[|;&)`]")
"""What ends a command."""
_BETWEEN = late_pattern(r"\\\n|[\"']\s*,\s*[\"']")
"""What stands between words: in a shell, and in a list of texts."""
_QUOTES = late_pattern(r"[\"'\[\]]+")
_ASKING = frozenset({"get", "describe", "wait", "delete", "edit", "label", "annotate", "patch", "scale", "rollout", "top"})
_OF_ONE_POD = frozenset({"exec", "logs", "cp", "attach", "port-forward", "debug"})
_OTHER_VERBS = frozenset({
    "apply", "create", "replace", "diff", "kustomize", "version", "config", "cluster-info", "api-resources", "api-versions",
    "auth", "explain", "options", "plugin", "completion", "cordon", "uncordon", "drain", "taint", "certificate",
})  # fmt: skip
_WITH_VALUE = frozenset({"-n", "--namespace", "-l", "--selector", "-o", "--output", "-f", "--context", "--field-selector", "-c"})
_MADE = late_pattern(
    r"(?:po|pods?|ep|endpoints?|endpointslices?|svc|services?|ev|events?|all|jobs?|jobsets?|podgroups?|pg|workloads?|hpa"
    r"|horizontalpodautoscalers?|(?:[a-z]+jobs?))(?:\.[\w.]+)?\Z"
)
"""Kinds of what v1 or v2 makes for a job, and jobs."""
_API_PATH = late_pattern(
    r"/(?:api/v1|apis/[\w.-]+/\w+)(?:/namespaces/[^/\s\"'?]+)?/(?P<kind>[a-z]+)[\w/{}$.-]*(?P<query>\?[^\s\"']*)?"
)
_PROBED = late_pattern(r"/(?:healthz|livez|readyz|version|metrics)\b")
_CLIENT_CALL = late_pattern(
    r"\.(?:list|read|watch|patch|delete|create|replace|connect|get)_(?:namespaced_|cluster_)?(?P<kind>[a-z_]+)\((?P<rest>[^\n]*)"
)
_MADE_BY_CALL = late_pattern(r"pods?|endpoints?|service(?!_account)|event|job|custom_object|collection|api_resource|horizontal")
_SELECTOR = late_pattern(r"label_?[sS]elector[\"']?\s?[=:]\s?f?[\"']?(?P<keys>[^\"'&\s)]+)")
_OF_A_NAME = late_pattern(r"label_selector\s?=\s?[A-Za-z_]")
"""A selector that a variable of Python holds."""


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


def may_ask_for_job(draft: Draft, text: str) -> int | None:
    """Where the text first asks for what may be the job's, or for something that is not known."""
    for match in islice(CLIENT.finditer(text), _MOST):
        if not is_in_comment(text, match.start()) and _may_be_own(draft, text, match):
            return match.start()
    return None


def _may_be_own(draft: Draft, text: str, match: re.Match[str]) -> bool:
    if match["command"]:
        if text[match.start() - 1 : match.start()] == "=":  # K=kubectl
            return True
        following = text[match.end() : match.end() + _LONGEST]
        following = _QUOTES.sub("", _BETWEEN.sub(" ", _END.split(following, maxsplit=1)[0]))
        return _may_command(draft, following.split())
    if match["library"]:
        calls = [*_CLIENT_CALL.finditer(text)]
        return not calls or any(_may_call(draft, one["kind"], one["rest"]) for one in calls)
    if match["address"]:
        paths = [*_API_PATH.finditer(text)]
        asked = any(_MADE.match(one["kind"]) and _selects(draft, one["query"] or "") for one in paths)
        return asked or not (paths or _PROBED.search(text))
    return True


def _may_command(draft: Draft, words: list[str]) -> bool:
    """Whether kubectl, given these words, may ask for something of the job's."""
    options, names = _options_and_names(words)
    if not names or names[0] in _OTHER_VERBS:
        return bool(words) and (not names or names[0] == "config") and any("$" in word for word in words)
    verb, *named = names
    if verb == "+" or any(word.startswith("$") for word in names[:2]):
        return True
    namespace = options.get("-n", options.get("--namespace", ""))
    if namespace and "$" not in namespace and draft.source.namespace not in ("", namespace):
        return False
    if raw := options.get("--raw") or (named[0] if "--raw" in words and named else ""):
        return not _PROBED.search(raw) and any(_MADE.match(one["kind"]) for one in _API_PATH.finditer(raw))
    if verb in _OF_ONE_POD:
        return _may_name(draft, named[:1]) or any(option in options for option in ("-l", "--selector"))
    if verb not in _ASKING or not named:
        return verb in _ASKING
    kinds, _, name = named[0].partition("/")
    made = any(_MADE.match(kind) or not kind.isascii() or "$" in kind for kind in kinds.lower().split(","))
    selector = options.get("-l", options.get("--selector", ""))
    if not made or (selector and not _selects(draft, f"labelSelector={selector}")):
        return False
    given = [name] if name else [one for one in named[1:] if "=" not in one]
    return _may_name(draft, given) if given else True


def _options_and_names(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """What a command is given: the values of options, and the other words."""
    options, names, waiting = dict[str, str](), list[str](), ""
    for word in words:
        if waiting:
            options[waiting], waiting = word, ""
        elif word == "--":
            break
        elif word.startswith("-"):
            name, is_given, value = word.partition("=")
            if name not in _WITH_VALUE and name[:2] in ("-n", "-l") and len(name) > 2:
                name, is_given, value = name[:2], "=", word[2:]
            options[name] = value
            waiting = name if not is_given and name in _WITH_VALUE else ""
        else:
            names.append(word)
    return options, names


def _may_name(draft: Draft, names: list[str]) -> bool:
    """Whether one of the names may be that of an object of the job's; none is, if there are none."""
    own = own_names(draft)
    return not names or any("$" in name or "{" in name or name.startswith((draft.job.name, *own)) for name in names)


def _may_call(draft: Draft, kind: str, rest: str) -> bool:
    """Whether a call of Kubernetes' own client may be for something of the job's."""
    return bool(_MADE_BY_CALL.match(kind)) and (bool(_OF_A_NAME.search(rest)) or _selects(draft, rest))


def _selects(draft: Draft, written: str) -> bool:
    """Whether a selector may find pods of the job: by a label that they have, or one that is not known."""
    match = _SELECTOR.search(written)
    if match is None:
        return True
    keys = [re.split(r"[!=]", one)[0].strip() for one in match["keys"].split(",")]
    labels = {key for spec in draft.job.replicas.values() for key in (spec.template.get("metadata") or {}).get("labels") or ()}
    return any(not re.fullmatch(r"[\w./-]+", key) or key in labels or "kubeflow.org" in key for key in keys)
