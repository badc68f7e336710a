"""The variables of the containers: what tells them who they are, then the user's.

v1 appended its own variables, so they won over the user's of the same name; in v2 the user's would win. What v1 overrode is
left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.meta import Json
from shunter.api.trainer.torch_validation import TORCHRUN_ENVIRONMENT
from shunter.cluster.node.content.expansion import variable_references
from shunter.migrate.conversion.commands.unread_variables import unread
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.conversion.ledger import Manifest
from shunter.migrate.conversion.rules.ssh import AGENT_ENVIRONMENT
from shunter.migrate.conversion.rules.trainer import IN_THE_RUNTIME, fits
from shunter.migrate.excerpts import variable_excerpt
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path
from shunter.operator.trainer.plugins.mpi import OPEN_MPI_ENVIRONMENT
from shunter.operator.trainer.plugins.xgboost import TRACKER_ENVIRONMENT

_RESERVED: dict[str, tuple[str, ...]] = {
    "torch": TORCHRUN_ENVIRONMENT,
    "mpi": (*OPEN_MPI_ENVIRONMENT, *AGENT_ENVIRONMENT),
    "xgboost": TRACKER_ENVIRONMENT,
}
"""What the job must not say, by the runtime's framework: of an MPIJob also how mpirun reaches its nodes."""
OVERRIDDEN = Topic(
    id="ENV001",
    title="a variable that v1 overrode is dropped",
    severity="info",
    other_impact="advisory",
    change="lossless",
    grade="E",
    explanation=(
        "The user's value never had an effect in v1: the v1 operator appended its own variables, and of two variables with the "
        "same name a container gets the last. In v2 the user's value would take effect, and the pods might not form a group."
    ),
    remedy="Remove the variable from the source; it never had an effect.",
    effort=0,
)
RESERVED = Topic(
    id="ENV002",
    title="a variable that v2 sets is dropped",
    severity="warning",
    change="semantic-change",
    grade="L",
    explanation=(
        "Admission rejects a TrainJob that sets variables reserved for its framework. v1 left this variable to the user, so the "
        "program now gets v2's value."
    ),
    remedy="Compare the value with the one that v2 sets, and pass it to the program as an argument if it must differ.",
)
EXPANDS_NOW = Topic(
    id="ENV003",
    title="a reference that v1 did not expand is expanded",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "Kubernetes replaces $(NAME) in the value of a variable if NAME is defined before it. v1 appended its own variables at "
        "the end, so references to them were not expanded; in v2 they come first, and the reference is replaced by their value. "
        "This is probably the intended behavior."
    ),
    remedy="Write $$(NAME) in the source to keep the literal text.",
)
TWICE = Topic(
    id="ENV004",
    title="a variable is defined twice; the last definition counts",
    severity="info",
    other_impact="advisory",
    change="lossless",
    grade="E",
    explanation="Of two variables with the same name a container gets the last. A TrainJob may define each name only once.",
    remedy="Remove the first definition from the source.",
    effort=0,
)
UNKNOWN_REFERENCE = Topic(
    id="ENV005",
    title="the command refers to a v1 variable that v2 does not set",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "Kubernetes replaces $(NAME) in the command and arguments by the container's variables. The v1 operator set this "
        "variable; nothing in the result does, so the program would get the literal text."
    ),
    remedy="Convert with --torch-launch=env-compat, or use the variables that v2 sets (PET_MASTER_ADDR, PET_NODE_RANK, ...).",
    effort=3,
    acceptable=True,
)


def apply(draft: Draft) -> None:
    """Sets `env` of every container. In kinds that set them in all containers, those that do not train get what they read."""
    for group in draft.groups:
        training = draft.training_container(group)
        # v1 sets them in all containers of a pod, v2's plugins in the one that trains.
        shared = (group.explicit_environment or group.environment) if draft.framework.shares_environment else []
        _leave_unread(group, training)
        for index, container in enumerate(group.pod["spec"]["containers"]):
            place: Path = ("spec", "containers", index)
            if container is training:
                _set_training(draft, group, place, container)
            else:
                own = _read(shared, container)
                _set(draft, group, place, container, own, is_overridden=draft.framework.shares_environment)


def _leave_unread(group: Group, training: Json) -> None:
    """The training container gets only what something in it may read."""
    group.environment = _read(group.environment, training)
    group.explicit_environment = _read(group.explicit_environment, training)
    needed = {name for variable in group.environment for name in references(variable.get("value"))}
    group.plugin_placeholders = [one for one in group.plugin_placeholders if one["name"] in needed]


def _read(variables: list[Json], container: Json) -> list[Json]:
    """The variables that something in the container may read or that override one of the user's, and those of which they are
    made."""
    given = {variable.get("name") for variable in container.get("env") or ()}
    not_read = unread(container, {variable["name"] for variable in variables} - given)
    kept: list[Json] = []
    needed: set[str] = set()
    for variable in reversed(variables):
        if variable["name"] not in not_read or variable["name"] in needed:
            kept.insert(0, variable)
            needed.update(references(variable.get("value")))
    return kept


def _set_training(draft: Draft, group: Group, place: Path, container: Json) -> None:
    """The user's variables stand in the TrainJob, if this group is what its trainer section is about."""
    own = [*{variable["name"]: variable for variable in [*group.plugin_placeholders, *group.environment]}.values()]
    _warn_of_unknown_references(draft, group, place, container, own)
    given: list[Json] = container.get("env") or []
    reason = "" if fits(given) else "it is too long"
    if any("fileKeyRef" in (variable.get("valueFrom") or {}) for variable in given):
        reason = "Trainer drops fileKeyRef from that of a TrainJob"
    if not group.trains or "env" in group.runtime_says or reason:
        if group.trains and reason:
            path = (*draft.template_paths(group)[0], *place, "env")
            draft.report(IN_THE_RUNTIME, path, f"env of the training container is in the runtime: {reason}.")
        _set(draft, group, place, container, own, is_overridden=True)
        return
    kept = _user_variables(draft, group, place, container, own, is_overridden=True)
    container.pop("env", None)
    if own:
        container["env"] = own
    if kept:
        draft.trainer["env"] = [variable for _, variable in kept]
    _account(draft, group, place, kept, in_trainer=True, offset=0)


def _set(draft: Draft, group: Group, place: Path, container: Json, own: list[Json], *, is_overridden: bool) -> None:
    kept = _user_variables(draft, group, place, container, own, is_overridden=is_overridden)
    variables = [*own, *(variable for _, variable in kept)]
    if variables:
        container["env"] = variables
    _account(draft, group, place, kept, in_trainer=False, offset=len(own))


def _account(draft: Draft, group: Group, place: Path, kept: list[tuple[int, Json]], *, in_trainer: bool, offset: int) -> None:
    """Where each of the user's variables stands now, item by item where the places differ."""
    is_aligned = offset == 0 and all(old == new for new, (old, _) in enumerate(kept))
    manifest: Manifest = "TrainJob" if in_trainer else "TrainingRuntime"
    base: Path = ("spec", "trainer", "env") if in_trainer else (*draft.pod_template_path(group), *place, "env")
    for template in draft.template_paths(group):
        source: Path = (*template, *place, "env")
        if draft.given(source) == []:
            draft.default(source, "the field is empty")
        elif is_aligned:
            draft.carry(source, manifest, base)
        else:
            for new, (old, _) in enumerate(kept):
                draft.carry((*source, old), manifest, (*base, offset + new))


def _user_variables(
    draft: Draft, group: Group, place: Path, container: Json, own: list[Json], *, is_overridden: bool
) -> list[tuple[int, Json]]:
    """The variables that stay, each with its place in the source; the others are reported."""
    given: list[Json] = container.get("env") or []
    last = {variable.get("name"): index for index, variable in enumerate(given)}
    v1 = draft.framework.environment(draft.job, group.roles[0])(0) if is_overridden else []
    overridden = {variable["name"]: variable.get("value") for variable in v1}
    refused = reserved(draft.ml_policy)
    set_first = {variable["name"]: variable.get("value") for variable in own}
    kept: list[tuple[int, Json]] = []
    for index, variable in enumerate(given):
        name = variable.get("name", "")
        if name in overridden and name in set_first and set_first[name] == variable.get("value") is not None:
            for template in draft.template_paths(group):
                draft.default((*template, *place, "env", index), "the runtime sets the same value")
            continue
        if name in overridden and (name in set_first or overridden[name] != variable.get("value")):
            topic, message = OVERRIDDEN, f"{name} is dropped: v1 overrode it."
        elif name in refused and group.trains:
            topic, message = RESERVED, f"{name} is dropped: v2 sets it."
        elif last[name] != index:
            topic, message = TWICE, f"{name} is defined again further down."
        else:
            kept.append((index, variable))
            told_first = overridden.keys() & set_first.keys() & {*references(variable.get("value"))}
            if text := _expansion(variable, {name: set_first[name] for name in told_first}, given[:index]):
                for template in draft.template_paths(group):
                    draft.report(EXPANDS_NOW, (*template, *place, "env", index, "value"), text)
            continue
        for template in draft.template_paths(group):
            draft.report(topic, (*template, *place, "env", index), message, dropped=True)
    return kept


def _expansion(variable: Json, told_first: Json, before: list[Json]) -> str:
    """What v2 makes of references to variables that stand first there, where v1 made something else of them: it knew only those
    of the source `before`."""
    known = {each.get("name"): each.get("value") for each in before}
    if told_first.keys() - known.keys():
        shown = variable_excerpt(variable["name"], variable["value"])
        return f"{variable['name']} was {shown!r} for the program, which v2 expands."
    others = sorted(name for name, value in told_first.items() if value is None or known[name] != value)
    return f"{variable['name']} was made of {', '.join(others)} of the source, which v2 overrides first." if others else ""


def _warn_of_unknown_references(draft: Draft, group: Group, place: Path, container: Json, own: list[Json]) -> None:
    known = {variable["name"] for variable in own}
    if "torch" in draft.ml_policy and group.trains:
        known.update(TORCHRUN_ENVIRONMENT)
    if "mpi" in draft.ml_policy:
        known.update(OPEN_MPI_ENVIRONMENT)
    lost = draft.operator_variables(group.roles[0]) - known
    for field in ("command", "args"):
        for index, word in enumerate(container.get(field) or []):
            missing = sorted(lost & set(references(word)))
            if missing:
                path = (*draft.template_paths(group)[0], *place, field, index)
                draft.report(UNKNOWN_REFERENCE, path, f"Nothing sets {', '.join(missing)}, which {field} refers to.")


def reserved(ml_policy: Json) -> frozenset[str]:
    """The variables that a TrainJob of a runtime with this policy must not say."""
    return frozenset(name for framework in ml_policy for name in _RESERVED.get(framework, ()))


def references(text: object) -> list[str]:
    """The names in `$(NAME)` of a text, in order, repeated ones too; empty for a value that is no text. `$$(NAME)` is none."""
    return [one.name for one in variable_references(text)] if isinstance(text, str) and "$(" in text else []


def are_known(variables: Iterable[Json], before: Iterable[str] = ()) -> bool:
    """Whether each refers only to those before it."""
    known = {*before}
    for variable in variables:
        if not known.issuperset(references(variable.get("value"))):
            return False
        known.add(variable["name"])
    return True
