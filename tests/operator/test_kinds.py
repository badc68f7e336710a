"""An operator for some kinds only."""

import pytest

from shunter.errors import InputError
from shunter.operator.kinds import EVERYTHING, KINDS, served
from shunter.operator.process import webhook_configurations


def test_no_kind_named_means_all() -> None:
    assert served(()) == EVERYTHING == served(KINDS)


@pytest.mark.parametrize(
    ("kind", "webhooks"),
    [
        ("PyTorchJob", {"validator.pytorchjob.training-operator.kubeflow.org"}),
        (
            "TrainJob",
            {
                "defaulter.trainjob.trainer.kubeflow.org",
                "validator.clustertrainingruntime.trainer.kubeflow.org",
                "validator.trainingruntime.trainer.kubeflow.org",
                "validator.trainjob.trainer.kubeflow.org",
            },
        ),
    ],
)
def test_only_the_webhooks_of_kinds_that_are_served_are_registered(kind: str, webhooks: set[str]) -> None:
    configurations = webhook_configurations(served((kind,)))
    assert {webhook.name for configuration in configurations for webhook in configuration.webhooks} == webhooks


def test_an_unknown_kind_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"'MPIjob' is no kind of job.*PyTorchJob"):
        served(("MPIjob",))
