"""What --mlflow means, beside the job's variables and the shell's; and that no credential stands in a job."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.launch.code.delivery import ImageCode
from shunter.launch.objects import rerun_job, train_job
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.runtimes.choice import Runtime
from shunter.launch.tracking import Tracking, new_job_id, tracked_run, tracking, with_uri

TORCH = Runtime("torch-distributed", "torch")
SHELL = {"MLFLOW_TRACKING_URI": "http://shell:5000"}
FROM_SECRET = {"name": "MLFLOW_TRACKING_URI", "valueFrom": {"secretKeyRef": {"name": "mlflow", "key": "MLFLOW_TRACKING_URI"}}}
LITERAL = {"name": "MLFLOW_TRACKING_URI", "value": "http://mine:5000"}

CHOSEN: dict[str, tuple[str, list[Json], dict[str, str], str | None]] = {
    "nothing": ("", [], {}, None),
    "an address": ("http://mlflow:5000/base", [], SHELL, "http://mlflow:5000/base"),
    "a service that is not the address": ("databricks://profile", [], {}, "databricks://profile"),
    "SageMaker": (
        "arn:aws:sagemaker:eu-west-1:1:mlflow-tracking-server/a",
        [],
        {},
        "arn:aws:sagemaker:eu-west-1:1:mlflow-tracking-server/a",
    ),
    "the shell's": ("", [], SHELL, "http://shell:5000"),
    "an empty variable of the shell": ("", [], {"MLFLOW_TRACKING_URI": ""}, None),
    "none, in spite of the shell": ("none", [], SHELL, None),
    "the job's own variable before the shell's": ("", [LITERAL], SHELL, ""),
    "a Secret's before the shell's": ("", [FROM_SECRET], SHELL, ""),
    "the cluster's own": ("local", [], SHELL, "http://own:1"),
}


@pytest.mark.parametrize(("given", "variables", "shell", "uri"), CHOSEN.values(), ids=CHOSEN)
def test_a_job_logs_to(given: str, variables: list[Json], shell: dict[str, str], uri: str | None) -> None:
    found = tracking(given, variables, shell, local="http://own:1")
    assert (None if found is None else found.uri) == uri


REFUSED: dict[str, tuple[str, list[Json], dict[str, str], str]] = {
    "a password": (
        "http://me:s3cret@mlflow:5000",
        [],
        {},
        r"^--mlflow http://\*\*\*@mlflow:5000 contains credentials, .* --env-from secret/NAME",
    ),
    "a user": ("https://me@mlflow", [], {}, r"^--mlflow https://\*\*\*@mlflow contains credentials"),
    "a password without a scheme": ("me:s3cret@mlflow", [], {}, r"^--mlflow \*\*\*@mlflow "),
    "a password with an @": ("http://me:s3cret@x@mlflow", [], {}, r"^--mlflow http://\*\*\*@mlflow contains credentials"),
    "a password in the shell": (
        "",
        [],
        {"MLFLOW_TRACKING_URI": "http://me:s3cret@mlflow"},
        r"^MLFLOW_TRACKING_URI of this shell, http://\*\*\*@mlflow contains credentials",
    ),
    "no scheme": (
        "mlflow:5000",
        [],
        {},
        "^--mlflow mlflow:5000 is not the address of an MLflow server that pods can reach. Write",
    ),
    "a directory": ("./mlruns", [], {}, "^--mlflow ./mlruns is not the address"),
    "a file": ("file:///tmp/mlruns", [], {}, "is not the address"),
    "a database": ("sqlite:///mlflow.db", [], {}, "is not the address"),
    "a port that is none": ("http://mlflow:99999", [], {}, "^--mlflow http://mlflow:99999: Port out of range"),
    "no host": ("http://", [], {}, "is not the address"),
    "a blank": ("http://ml flow", [], {}, "is not the address"),
    "a page": (
        "http://mlflow:5000/#/experiments/1",
        [],
        {},
        "is the address of a web page, not of the server. Write http://mlflow:5000.",
    ),
    "this machine": ("http://localhost:5000", [], {}, "in a pod, that address is the pod itself. Write .* --mlflow local"),
    "this machine by number": ("http://127.0.0.1:5000", [], {}, "in a pod, that address is the pod itself"),
    "this machine in the shell": (
        "",
        [],
        {"MLFLOW_TRACKING_URI": "http://[::1]:5000"},
        "^MLFLOW_TRACKING_URI of this shell, .* is the pod itself. .* --mlflow none leaves",
    ),
    "two addresses": ("http://mlflow", [LITERAL], {}, "both name an MLflow server"),
    "two addresses, one the cluster's own": ("local", [FROM_SECRET], {}, "both name an MLflow server"),
}


@pytest.mark.parametrize(("given", "variables", "shell", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_meant_is_refused(given: str, variables: list[Json], shell: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        tracking(given, variables, shell)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ({"name": "MLFLOW_TRACKING_TOKEN", "value": "s3cret"}, "--env-from secret/SECRET:MLFLOW_TRACKING_TOKEN"),
        ({"name": "MLFLOW_TRACKING_PASSWORD", "value": "s3cret"}, "--env-from secret/SECRET:MLFLOW_TRACKING_PASSWORD"),
        ({"name": "MLFLOW_TRACKING_URI", "value": "http://me:s3cret@mlflow"}, "contains credentials"),
    ],
    ids=["a token", "a password", "an address with a password"],
)
def test_credentials_come_from_secrets_only(variable: Json, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        LaunchOptions(program=Program(path="train.py"), environment=(variable,))
    assert "s3cret" not in str(refused.value)
    secret = {"secretKeyRef": {"name": "mlflow", "key": variable["name"]}}
    options = LaunchOptions(program=Program(path="train.py"), environment=({"name": variable["name"], "valueFrom": secret},))
    job = train_job(options, ImageCode(), TORCH, name="train", namespace="team")
    assert {"name": variable["name"], "valueFrom": secret} in job["spec"]["trainer"]["env"]


def tracked(uri: str = "http://mlflow:5000", *environment: Json) -> Json:
    options = LaunchOptions(program=Program(path="train.py"), environment=environment, tracking=Tracking(uri, job_id="1"))
    return train_job(options, ImageCode(), TORCH, name="train", namespace="team")


def values(job: Json) -> dict[str, str | None]:
    return {variable["name"]: variable.get("value") for variable in job["spec"]["trainer"]["env"]}


def test_a_job_whose_address_is_in_a_secret_still_says_who_it_is() -> None:
    found = values(tracked("", FROM_SECRET))
    assert (found["MLFLOW_TRACKING_URI"], found["SHUNTER_JOB"], found["SHUNTER_JOB_ID"]) == (None, "team/train", "1")


def test_a_job_that_runs_again_gets_a_run_of_its_own() -> None:
    mine = {"name": "MLFLOW_RUN_NAME", "value": "mine"}
    again = values(rerun_job(tracked(), "train-2", job_id="2"))
    assert (again["SHUNTER_JOB"], again["SHUNTER_JOB_ID"], again["MLFLOW_RUN_NAME"]) == ("team/train-2", "2", "train-2")
    assert values(rerun_job(tracked("http://mlflow:5000", mine), "train-2", job_id="2"))["MLFLOW_RUN_NAME"] == "mine"
    assert new_job_id() != new_job_id()


def test_the_run_of_a_job_is_known_by_its_variables_and_its_reports() -> None:
    job = tracked()
    found = tracked_run(job)
    assert found is not None
    assert (found.uri, found.experiment, found.run, found.run_id) == ("http://mlflow:5000", "team", "train", "")
    metrics = [{"name": "mlflow.run", "value": "c0ffee"}, {"name": "mlflow.experiment", "value": "7"}, {"name": "step"}]
    told = tracked_run({**with_uri(job, "http://moved:1"), "status": {"trainerStatus": {"metrics": metrics}}})
    assert told is not None
    assert (told.uri, told.experiment_id, told.run_id) == ("http://moved:1", "7", "c0ffee")
    assert values(job)["MLFLOW_TRACKING_URI"] == "http://mlflow:5000"
    assert tracked_run({"spec": {}}) is None
    assert tracked_run({"spec": {"trainer": {"env": [{"name": "A", "value": "1"}]}}, "status": {}}) is None
