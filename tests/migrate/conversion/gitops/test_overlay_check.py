"""What two builds differ in, in words."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.migrate.conversion.gitops.overlay_check import KustomizeBuild, differences


def built(trainer: Json) -> KustomizeBuild:
    job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "bert"}}
    return KustomizeBuild({("TrainJob", "", "bert"): {**job, "spec": {"runtimeRef": {}, "trainer": trainer}}}, {})


def test_a_difference_shows_the_value_before_and_now() -> None:
    before, now = built({"image": "train:2", "numNodes": 4}), built({"image": "train:1", "command": ["python"]})
    (text,) = differences(before, now)
    assert text == (
        "TrainJob bert differs in spec.trainer.image ('train:2' before, 'train:1' now), "
        "spec.trainer.numNodes ('4' before, nothing now), spec.trainer.command[0] (nothing before, 'python' now)"
    )


def test_a_difference_hides_credentials() -> None:
    before, now = (built({"env": [{"name": "API_TOKEN", "value": value}]}) for value in ("old-secret-value", "new-secret-value"))
    (text,) = differences(before, now)
    assert "spec.trainer.env[0].value" in text
    assert "secret-value" not in text


def test_of_many_fields_the_first_three_are_shown() -> None:
    (text,) = differences(built({f"f{number}": 1 for number in range(5)}), built({}))
    assert text.endswith("spec.trainer.f2 ('1' before, nothing now) and 2 more fields")
