"""Values that only the user knows."""

from __future__ import annotations

import yaml

from shunter.sizing import ManifestOptions
from shunter.sizing.manifests import PLACEHOLDERS, manifests
from sizing.made_manifests import NAMED, by_kind, choice


def test_what_is_the_users_is_a_hole_by_its_name() -> None:
    made = manifests(choice(nodes=2), ManifestOptions())
    assert [(placeholder.object, placeholder.option) for placeholder in made.placeholders] == [
        ("EC2NodeClass training", "--role"),
        ("EC2NodeClass training", "--ami"),
        ("EC2NodeClass training", "--subnet"),
        ("EC2NodeClass training", "--security-group"),
        ("NodePool training", "--zone"),
        ("TrainJob training", "--image"),
    ]
    objects = by_kind(made)
    assert objects["EC2NodeClass"]["spec"]["role"] == "hole-role"
    assert objects["EC2NodeClass"]["spec"]["subnetSelectorTerms"] == [{"id": "subnet-hole"}]
    assert objects["TrainJob"]["metadata"]["annotations"] == {PLACEHOLDERS: "spec.trainer.image: --image"}
    for placeholder in made.placeholders:
        assert (
            f"{placeholder.field}: {placeholder.option}"
            in objects[placeholder.object.split()[0]]["metadata"]["annotations"][PLACEHOLDERS]
        )


def test_nothing_is_a_hole_when_all_is_named() -> None:
    made = manifests(choice(nodes=2), ManifestOptions(**NAMED))
    assert made.placeholders == ()
    assert "hole" not in yaml.safe_dump(list(made.objects))
