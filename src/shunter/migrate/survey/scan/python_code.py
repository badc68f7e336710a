"""Finds uses of the v1 SDK, and other code that creates v1 jobs, in the syntax tree, with the v2 call that replaces each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shunter.migrate.conversion.commands.python_code import UNPARSABLE, literal_text, syntax_tree
from shunter.migrate.findings import Topic
from shunter.migrate.survey.scan.suggested_calls import suggested
from shunter.migrate.survey.sdk_moves import COUNTERPARTS, counterpart_of
from shunter.migrate.v1_texts.reference import KINDS, PLURALS, V1_GROUP, Reference

CALL = Topic(
    id="SCAN001",
    title="a call of the v1 SDK",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "TrainingClient of kubeflow-training creates and reads objects of kubeflow.org/v1. TrainerClient of the package "
        "kubeflow does the same for TrainJobs, with other calls; `shunter migrate report` lists them side by side."
    ),
    remedy="Use kubeflow.trainer.TrainerClient.",
    effort=3,
)
IMPORT = Topic(
    id="SCAN002",
    title="an import of the v1 SDK",
    severity="warning",
    change="manual",
    grade="N",
    explanation="kubeflow.training is the package kubeflow-training, the SDK of v1, which is no longer developed.",
    remedy="Import kubeflow.trainer (package kubeflow).",
)
MODEL = Topic(
    id="SCAN003",
    title="a v1 object created in code",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "The program builds a v1 job itself, so converting manifests does not affect it: it continues to create v1 jobs. The v2 "
        "SDK has no counterpart of a complete job object."
    ),
    remedy="Call TrainerClient.train, or write the job as YAML, convert it, and let the program fill in values and create it.",
    effort=5,
)
PLUGIN = Topic(
    id="SCAN004",
    title="a plugin or component that creates v1 jobs",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "Workflow engines create v1 jobs through plugins and components (Flyte's kfpytorch, launchers of Kubeflow Pipelines). "
        "The job exists only while the workflow runs, so it cannot be converted in the cluster: the workflow has to change."
    ),
    remedy="Use a version of the plugin that creates TrainJobs, or a step that calls TrainerClient.train.",
    effort=5,
)
RAW_REQUEST = Topic(
    id="SCAN005",
    title="v1 jobs through the generic API client",
    severity="warning",
    change="manual",
    grade="N",
    explanation="The program creates or reads v1 jobs by group, version and plural; it does not see migrated jobs.",
    remedy='Use group="trainer.kubeflow.org", version="v1alpha1", plural="trainjobs"; the object has other fields.',
    effort=3,
)
UNPARSED = Topic(
    id="SCAN006",
    title="Python that could not be parsed",
    severity="info",
    change="manual",
    grade="E",
    explanation="The file is not valid Python for this interpreter (a template, or Python 2), so only its lines were checked.",
    remedy="Check it by hand.",
)

NESTED_TOO_DEEP = "it is nested too deep"
_WORDS = ("kubeflow", "flytekitplugins", "launcher", *KINDS)
"""A module with none of these is not parsed, because parsing takes most of the time of a scan."""
_V1_PACKAGES = ("kubeflow.training", "kubeflow.tfjob", "kubeflow.pytorchjob")
_PLUGIN_PACKAGES = ("flytekitplugins.kfpytorch", "flytekitplugins.kftensorflow", "flytekitplugins.kfmpi")
_LAUNCHER = re.compile(r"kubeflow/(?:pytorch|tf|katib|xgboost|mpi|common)[-_]?launcher|(?:pytorch|tf)[-_]launcher", re.I)
_JOB_MODEL = re.compile(rf"(?:KubeflowOrgV1|V1)(?:{'|'.join(KINDS)})")
_ONLY_OF_V1 = frozenset(call for counterpart in COUNTERPARTS for call in counterpart.calls) - {
    "TrainingClient", "train", "create_job", "get_job", "list_jobs", "delete_job", "update_job", "get_job_logs",
}  # fmt: skip
"""Methods whose names are specific enough if the client's type is unknown."""


def references(text: str) -> Iterator[Reference]:
    """All uses of v1 in the syntax tree, in the order of the lines."""
    if not any(word in text for word in _WORDS):
        return
    tree = parsed(text)
    if isinstance(tree, Reference):
        yield tree
        return
    found = _Visitor(text)
    try:
        found.visit(tree)
        found.references.clear()  # a client may be created below its first use
        found.visit(tree)
    except RecursionError:
        yield _unparsed(1, NESTED_TOO_DEEP)
        return
    yield from sorted(found.references, key=lambda reference: (reference.line, reference.column))


def parsed(text: str) -> ast.Module | Reference:
    """The syntax tree of a text, or a reference with the reason why it cannot be parsed."""
    try:
        return syntax_tree(text)
    except UNPARSABLE as error:
        return _unparsed(getattr(error, "lineno", None) or 1, str(getattr(error, "msg", error)) or NESTED_TOO_DEEP)


def _unparsed(line: int, why: str) -> Reference:
    return Reference(UNPARSED, line, 1, 0, f"Not parsed: {why}.")


class _Visitor(ast.NodeVisitor):
    """Visits a module; names are tracked by module, not by scope."""

    def __init__(self, text: str) -> None:
        self.references: list[Reference] = []
        self._lines = text.split("\n")
        self._client_classes: set[str] = set()
        self._clients: set[str] = set()
        self._uses_v1 = False

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._import([alias], alias.name)
            if _is_below(alias.name, _V1_PACKAGES):
                self._client_classes.add(f"{alias.asname or alias.name}.TrainingClient")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Reports one finding for each import statement."""
        module = node.module or ""
        self._import([alias for alias in node.names if _is_below(f"{module}.{alias.name}", _V1_PACKAGES)], module)
        self._import([alias for alias in node.names if _is_below(f"{module}.{alias.name}", _PLUGIN_PACKAGES)], module)
        for alias in node.names:
            if _is_below(f"{module}.{alias.name}", _V1_PACKAGES):
                bound = alias.asname or alias.name
                self._client_classes.add("TrainingClient" if bound == "*" else f"{bound}.TrainingClient")
                if alias.name == "TrainingClient":
                    self._client_classes.add(bound)

    def _import(self, aliases: list[ast.alias], name: str) -> None:
        if not aliases:
            return
        names = ", ".join(alias.name for alias in aliases)
        text = name if names == name else f"{names} of {name}"
        if _is_below(f"{name}.{aliases[0].name}", _V1_PACKAGES) or _is_below(name, _V1_PACKAGES):
            self._uses_v1 = True
            self._add(IMPORT, aliases[0], aliases[0].name, f"The v1 SDK is imported: {text}.", "")
        elif _is_below(name, _PLUGIN_PACKAGES):
            self._add(PLUGIN, aliases[0], aliases[0].name, f"{text}: it creates v1 jobs.", "")

    def visit_Assign(self, node: ast.Assign) -> None:
        if self._is_client(node.value):
            self._clients.update(ast.unparse(target) for target in node.targets)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if self._names_class(node.annotation) or (node.value is not None and self._is_client(node.value)):
            self._clients.add(ast.unparse(node.target))
        self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        if node.annotation is not None and self._names_class(node.annotation):
            self._clients.add(node.arg)

    def visit_withitem(self, node: ast.withitem) -> None:
        if node.optional_vars is not None and self._is_client(node.context_expr):
            self._clients.add(ast.unparse(node.optional_vars))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        called = ast.unparse(node.func)
        last = called.rpartition(".")[2]
        if self._names_class(node.func):
            self._add_call("TrainingClient", node, node.func)
        elif isinstance(node.func, ast.Attribute) and self._is_method_of_client(node.func):
            self._add_call(node.func.attr, node, node.func)
        elif _JOB_MODEL.fullmatch(last):
            self._add(MODEL, node.func, last, f"{last} is a v1 job created here.", "")
        elif self._is_raw_request(node):
            self._add(RAW_REQUEST, node.func, last, f"{last} is called for jobs of {V1_GROUP}.", "")
        elif last.startswith(("load_component", "ComponentStore")) and (url := self._launcher(node)):
            self._add(PLUGIN, node.func, last, f"The component {url} creates v1 jobs.", "")
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        given = {key.value: value for key, value in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant)}
        kind, version = (literal_text(given.get(field)) for field in ("kind", "apiVersion"))
        if kind in KINDS and (version == f"{V1_GROUP}/v1" or version is None):
            self._add(MODEL, given["kind"], kind, f"A {kind} is created here.", "")
        self.generic_visit(node)

    def _names_class(self, node: ast.expr) -> bool:
        text = literal_text(node) or ast.unparse(node)
        return text in self._client_classes or any(
            text in (f"{name} | None", f"Optional[{name}]") for name in self._client_classes
        )

    def _is_client(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self._names_class(node.func)

    def _is_method_of_client(self, node: ast.Attribute) -> bool:
        if counterpart_of(node.attr) is None:
            return False
        owner = node.value
        if self._is_client(owner) or ast.unparse(owner) in self._clients:
            return True
        return self._uses_v1 and node.attr in _ONLY_OF_V1

    def _is_raw_request(self, node: ast.Call) -> bool:
        values = [literal_text(value) for value in (*node.args, *(keyword.value for keyword in node.keywords))]
        return V1_GROUP in values and any(value in PLURALS for value in values)

    def _launcher(self, node: ast.Call) -> str:
        values = (literal_text(value) or "" for value in (*node.args, *(keyword.value for keyword in node.keywords)))
        return next((value for value in values if _LAUNCHER.search(value)), "")

    def _add_call(self, method: str, node: ast.Call, func: ast.expr) -> None:
        counterpart = counterpart_of(method)
        assert counterpart is not None, method
        shown = f"TrainingClient.{method}" if method != "TrainingClient" else method
        by = f"In v2: `{counterpart.v2}`." if counterpart.v2 else "v2 has no such call."
        remedy = f"{suggested(method, node)} {counterpart.loss}".strip()
        self._add(CALL, func, method, f"{shown} is of the v1 SDK. {by}", remedy)

    def _add(self, topic: Topic, node: ast.AST, last: str, message: str, remedy: str) -> None:
        """Adds a reference at the start of the node, or of the last part of a dotted name."""
        line, offset = node.lineno, node.col_offset  # type: ignore[attr-defined]
        if isinstance(node, ast.Attribute):
            line, offset = node.end_lineno or line, (node.end_col_offset or 0) - len(node.attr.encode())
        before = self._lines[line - 1].encode()[:offset] if line <= len(self._lines) else b""
        self.references.append(Reference(topic, line, len(before.decode(errors="replace")) + 1, len(last), message, remedy))


def _is_below(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)
