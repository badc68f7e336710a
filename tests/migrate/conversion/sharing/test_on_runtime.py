"""What a TrainJob says itself beside the runtime that it shares."""

from __future__ import annotations

from migrate.conversion.sharing.shared_jobs import ANY_VARIABLE, converted, job, node, require_proof, runtimes


def test_what_differs_stands_in_the_train_jobs_and_what_is_equal_in_the_runtime() -> None:
    first = job("a", command=ANY_VARIABLE, args=["--lr=1"], env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])
    second = job(
        "b", command=ANY_VARIABLE, args=["--lr=2"], env=[{"name": "A", "value": "1"}, {"name": "B", "value": "3"}], workers=5
    )
    found = converted(first, second)
    (runtime,) = runtimes(found)
    said = [one.train_job["spec"]["trainer"] for one in found]
    assert said == [
        {"numNodes": 3, "args": ["--lr=1"], "env": [{"name": "B", "value": "2"}]},
        {"numNodes": 6, "args": ["--lr=2"], "env": [{"name": "B", "value": "3"}]},
    ]
    assert (node(runtime)["image"], node(runtime)["command"]) == ("x:1", ANY_VARIABLE)
    assert {"name": "A", "value": "1"} in node(runtime)["env"]
    require_proof(found)


def test_a_job_that_is_alone_says_all_itself() -> None:
    (one,) = converted(job("a"))
    assert one.train_job["spec"]["trainer"]["image"] == "x:1"
    assert "image" not in node(runtimes([one])[0])


def test_jobs_that_say_nothing_themselves_have_a_trainer_section_nevertheless() -> None:
    """Without one the Trainer would tell its pods no variables (kubeflow/trainer#4076)."""
    found = converted(job("a", "TFJob", workers=1), job("b", "TFJob", workers=1))
    assert [one.train_job["spec"]["trainer"] for one in found] == [{"numNodes": 1}] * 2
    require_proof(found)
