"""Variables that v2 sets: overridden in envFrom, or asked for by programs."""

from __future__ import annotations

import base64

import pytest

from migrate.conversion.rules.jobs_with_config_map import with_config_map
from migrate.conversion.rules.test_indirect_reads import converted, limits, python, shell
from shunter.api.meta import Json


@pytest.mark.parametrize(
    ("container", "kind", "told"),
    [
        ({"envFrom": [{"configMapRef": {"name": "settings"}}]}, "JAXJob", "JAX_PROCESS_ID"),
        ({"envFrom": [{"prefix": "JOB_", "configMapRef": {"name": "settings"}}]}, "PyTorchJob", "JOB_COMPLETION_INDEX"),
    ],
)
def test_a_variable_of_env_from_that_v2_overrides_is_told_of(container: Json, kind: str, told: str) -> None:
    data = {"JAX_PROCESS_ID": "0", "COMPLETION_INDEX": "0", "NCCL_DEBUG": "INFO"}
    found = with_config_map({"command": ["python", "t.py"], **container}, {"data": data}, kind).findings
    assert [finding.message for finding in found if finding.topic.id == "ENV006"] == [
        f"ConfigMap settings sets {told}, which v2 sets itself."
    ]


def test_a_variable_of_env_from_that_v1_sets_too_is_not() -> None:
    container = {"command": ["python", "t.py"], "envFrom": [{"configMapRef": {"name": "settings"}}]}
    assert "ENV006" not in limits(with_config_map(container, {"data": {"RANK": "0", "A": "b"}}))


def test_binary_data_becomes_files_and_no_variables() -> None:
    """The kubelet makes variables of `data` alone."""
    script = "export SHARD=${HOSTNAME##*-}; python t.py"
    reference = {"name": "START", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "START"}}}
    all_of_it = {"configMapRef": {"name": "settings"}}
    for field, told in (("data", True), ("binaryData", False)):
        values = {"START": script, "JAX_PROCESS_ID": "0"}
        coded = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        data = {field: values if field == "data" else coded}
        command = shell('eval "$START"')
        overridden = limits(with_config_map({"command": command, "envFrom": [all_of_it]}, data, "JAXJob"))
        programs = [
            limits(with_config_map({"command": command, **one}, data)) for one in ({"envFrom": [all_of_it]}, {"env": [reference]})
        ]
        assert ("ENV006" in overridden) is told
        assert ["HOST009!" in found for found in programs] == [told, told]


def test_jax_without_arguments_looks_for_a_variable_of_v2() -> None:
    assert "HOST014" in limits(converted(python("import jax\njax.distributed.initialize()"), "JAXJob"))
    assert "HOST014" not in limits(converted(python("import jax\njax.distributed.initialize(a, 2, 0)"), "JAXJob"))


def test_a_variable_looked_for_in_small_letters_is_told_of() -> None:
    code = "import os\nknown = {k.lower(): v for k, v in os.environ.items()}\n"
    assert "HOST014" in limits(converted(python(f"{code}known.get('job_completion_index')")))
    assert "HOST014" not in limits(converted(python("print('job_completion_index')")))


def test_a_program_that_looks_where_to_report_is_told_of() -> None:
    assert "HOST014" in limits(converted(python("import os\nos.environ.get('KUBEFLOW_TRAINER_SERVER_URL')")))


IN_A_TRY = "import jax\ntry:\n    jax.distributed.initialize()\nexcept ValueError:\n    pass"
IF_SET = "import os, jax\nif 'JAX_COORDINATOR_ADDRESS' in os.environ:\n    jax.distributed.initialize()"
INDEX = "JOB_COMPLETION_INDEX"


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (shell("python t.py --shard-id ${JOB_COMPLETION_INDEX:-0}"), "TFJob"),
        (shell('[ -n "$JOB_COMPLETION_INDEX" ] && export RANK=$JOB_COMPLETION_INDEX; python t.py'), "XGBoostJob"),
        (shell('if [ "$JOB_COMPLETION_INDEX" = 0 ]; then python prepare.py; fi; python t.py'), "PyTorchJob"),
        (shell("ME=${JOB_COMPLETION_INDEX:-$NODE}; python t.py --rank $ME"), "PyTorchJob"),
        (shell("python t.py --rank ${JOB_COMPLETION_INDEX:-$RANK}"), "TFJob"),
        (python(f"import os\nmain(shard=int(os.environ.get('{INDEX}', 0)))"), "PyTorchJob"),
        (python("import os\nn = int(os.environ.get('JAX_NUM_PROCESSES', '1'))"), "JAXJob"),
        (["node", "-e", f"const shard = Number(process.env.{INDEX} || 0); train(shard)"], "PyTorchJob"),
        (["node", "-e", f"run('python', ['t.py', '--rank', process.env.{INDEX}])"], "PyTorchJob"),
        (python(IF_SET), "JAXJob"),
        (python(IN_A_TRY), "JAXJob"),
    ],
)
def test_a_rank_of_a_variable_of_v2_is_refused(command: list[str], kind: str) -> None:
    assert {"HOST014", "HOST031!"} & {*limits(converted(command, kind))} == {"HOST031!"}


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (shell('echo "index ${JOB_COMPLETION_INDEX:-none}"; python t.py'), "PyTorchJob"),
        (shell("python t.py --rank ${JOB_COMPLETION_INDEX:-$RANK}"), "PyTorchJob"),
        (shell('python t.py --rank "${JOB_COMPLETION_INDEX:-${RANK}}"'), "XGBoostJob"),
        (shell("unset JOB_COMPLETION_INDEX; python t.py --rank ${JOB_COMPLETION_INDEX:-0}"), "PyTorchJob"),
        (python(f"import os\nrank = int(os.environ.get('{INDEX}', os.environ['RANK']))"), "PyTorchJob"),
        (python(f"import os\nrank = int(os.getenv('{INDEX}') or os.getenv('PROCESS_ID'))"), "JAXJob"),
        (["node", "-e", f"const rank = process.env.{INDEX} || process.env.RANK"], "PyTorchJob"),
        (python("import jax\njax.distributed.initialize()"), "JAXJob"),
        (python("import os\nif os.environ.get('KUBEFLOW_TRAINER_SERVER_URL') == '': pass"), "PyTorchJob"),
    ],
)
def test_one_that_decides_nothing_or_is_the_rank_of_v1_is_a_warning(command: list[str], kind: str) -> None:
    assert {"HOST014", "HOST031!"} & {*limits(converted(command, kind))} == {"HOST014"}


def test_an_option_that_a_library_fills_from_a_variable_of_v2_is_told_of() -> None:
    code = """\
import click
@click.command(context_settings={"auto_envvar_prefix": "JAX"})
@click.option("--process-id", default=0)
def main(process_id): train(process_id)"""
    assert "HOST014" in limits(converted(python(code), "JAXJob"))
    assert "HOST014" not in limits(converted(python(code.replace("JAX", "RUN")), "JAXJob"))
    assert "HOST014" not in limits(converted(python(code)))  # no variable of a PyTorchJob's pods
