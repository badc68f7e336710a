"""Suggests the v2 call for a call of the v1 SDK, with its arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from copy import deepcopy

from shunter.api.secrets.masking import HIDDEN, masked

_TO_TRAINER = {
    "train_func": "func",
    "parameters": "func_args",
    "base_image": "image",
    "packages_to_install": "packages_to_install",
    "num_workers": "num_nodes",
    "resources_per_worker": "resources_per_node",
    "env_vars": "env",
}
"""Arguments of create_job, and their names in CustomTrainer."""
_OF_CONTAINERS = ("image", "num_nodes", "resources_per_node", "env")
"""Arguments of CustomTrainerContainer, for an image without function."""
_NOT_EXPRESSIBLE = ("job", "num_procs_per_worker", "num_chief_replicas", "num_ps_replicas", "volumes", "volume_mounts")
"""Arguments of create_job that belong in a TrainingRuntime."""


def suggested(method: str, call: ast.Call) -> str:
    """Advice such as: Write `client.train(...)`. Empty if the arguments are not sufficient."""
    call = _CredentialMask().visit(deepcopy(call))
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg}
    write = _SUGGESTIONS.get(method)
    text = write(_client(call), [ast.unparse(argument) for argument in call.args], given) if write else ""
    left = [name for name in _NOT_EXPRESSIBLE if name in given] if method == "create_job" else []
    note = f" ({', '.join(left)}: in a TrainingRuntime of your own)" if left else ""
    return f"Write `{text}`{note}." if text else ""


class _CredentialMask(ast.NodeTransformer):
    """Masks credentials in mappings (`env_vars={"HF_TOKEN": ...}`), by their keys."""

    def visit_Dict(self, node: ast.Dict) -> ast.Dict:
        self.generic_visit(node)
        node.values = [_without_secret(key, value) for key, value in zip(node.keys, node.values, strict=True)]
        return node


def _without_secret(key: ast.expr | None, value: ast.expr) -> ast.expr:
    if not (isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(value, ast.Constant)):
        return value
    assigned = f"{key.value}=value"
    return value if masked(assigned, ()) == assigned else ast.Constant(HIDDEN)


def _client(call: ast.Call) -> str:
    name = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    return name if name.replace(".", "").replace("_", "").isalnum() else "client"


def _constructed(client: str, args: list[str], given: Mapping[str, str]) -> str:
    kept = [f"{name}={given[name]}" for name in ("namespace", "config_file", "context", "client_configuration") if name in given]
    return f"TrainerClient(backend_config=KubernetesBackendConfig({', '.join(kept)}))" if kept else "TrainerClient()"


def _created(client: str, args: list[str], given: Mapping[str, str]) -> str:
    if "job" in given or (args and "train_func" not in given and "base_image" not in given):
        return ""
    has_function = "train_func" in given
    taken = {old: new for old, new in _TO_TRAINER.items() if has_function or new in _OF_CONTAINERS}
    trainer = [f"{new}={given[old]}" for old, new in taken.items() if old in given]
    if has_function and "pip_index_url" in given:
        trainer.append(f"pip_index_urls=[{given['pip_index_url']}]")
    options = [f"Name({given['name']})"] if "name" in given else []
    if "queue_name" in given:
        queue = f"'kueue.x-k8s.io/queue-name': {given['queue_name']}"
        options.append(f"Labels({{**{given['labels']}, {queue}}})" if "labels" in given else f"Labels({{{queue}}})")
    elif "labels" in given:
        options.append(f"Labels({given['labels']})")
    if "annotations" in given:
        options.append(f"Annotations({given['annotations']})")
    kind = "CustomTrainer" if has_function else "CustomTrainerContainer"
    listed = f", options=[{', '.join(options)}]" if options else ""
    return f"{client}.train(runtime='torch-distributed', trainer={kind}({', '.join(trainer)}){listed})"


def _waited(client: str, args: list[str], given: Mapping[str, str]) -> str:
    arguments = _name(args, given)
    if "expected_conditions" in given:
        arguments.append(f"status={given['expected_conditions'].replace('Succeeded', 'Complete')}")
    renamed = {"wait_timeout": "timeout", "polling_interval": "polling_interval"}
    arguments += [f"{new}={given[old]}" for old, new in renamed.items() if old in given]
    if "callback" in given:
        arguments.append(f"callbacks=[{given['callback']}]")
    return f"{client}.wait_for_job_status({', '.join(arguments)})"


def _logged(client: str, args: list[str], given: Mapping[str, str]) -> str:
    index = given.get("replica_index")
    step = "'node-0'"
    if index is not None and given.get("replica_type", "").strip("'\"").lower() == "worker":
        step = f"'node-{int(index) + 1}'" if index.isdigit() else f"f'node-{{{index} + 1}}'"
    follow = [f"follow={given['follow']}"] if "follow" in given else []
    return f"{client}.get_job_logs({', '.join([*_name(args, given), f'step={step}', *follow])})"


def _status(wanted: str) -> Callable[[str, list[str], Mapping[str, str]], str]:
    return lambda client, args, given: f"{client}.get_job({', '.join(_name(args, given))}).status == '{wanted}'"


def _named(method: str) -> Callable[[str, list[str], Mapping[str, str]], str]:
    return lambda client, args, given: f"{client}.{method}({', '.join(_name(args, given))})"


def _steps(client: str, args: list[str], given: Mapping[str, str]) -> str:
    return f"{client}.get_job({', '.join(_name(args, given))}).steps"


def _name(args: list[str], given: Mapping[str, str]) -> list[str]:
    """The job's name, which is the first argument of most calls."""
    return [args[0]] if args else [given["name"]] if "name" in given else []


_SUGGESTIONS: Mapping[str, Callable[[str, list[str], Mapping[str, str]], str]] = {
    "TrainingClient": _constructed,
    "create_job": _created,
    "wait_for_job_conditions": _waited,
    "get_job_logs": _logged,
    "get_job": _named("get_job"),
    "delete_job": _named("delete_job"),
    "list_jobs": lambda client, args, given: f"{client}.list_jobs()",
    "get_job_conditions": lambda client, args, given: f"{_named('get_job')(client, args, given)}.status",
    "is_job_created": _status("Created"),
    "is_job_running": _status("Running"),
    "is_job_succeeded": _status("Complete"),
    "is_job_failed": _status("Failed"),
    "get_job_pods": _steps,
    "get_job_pod_names": lambda client, args, given: f"[step.pod_name for step in {_steps(client, args, given)}]",
}
