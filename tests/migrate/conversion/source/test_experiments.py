"""When a trial of Katib is over, in terms of TrainJobs."""

from __future__ import annotations

import pytest

from shunter.migrate.conversion.source.experiments import in_terms_of_train_jobs


@pytest.mark.parametrize(
    ("condition", "converted"),
    [
        pytest.param(
            'status.conditions.#(type=="Succeeded")#|#(status=="True")#',
            'status.conditions.#(type=="Complete")#|#(status=="True")#',
            id="success",
        ),
        pytest.param(
            "status.conditions.#(type == 'Succeeded')", "status.conditions.#(type == 'Complete')", id="other quotes and blanks"
        ),
        pytest.param(
            'status.conditions.#(type=="Failed")#|#(status=="True")#',
            'status.conditions.#(type=="Failed")#|#(status=="True")#',
            id="failure is called the same",
        ),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_condition_names_the_trainjobs_own(condition: str, converted: str) -> None:
    assert in_terms_of_train_jobs(condition) == converted
    assert in_terms_of_train_jobs(converted) == converted
