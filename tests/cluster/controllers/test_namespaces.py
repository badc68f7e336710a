"""What a namespace gets."""

from datetime import UTC, datetime

from shunter.api.meta import MetadataOnly, ObjectMeta
from shunter.cluster.controllers.namespaces import Observed, plan
from shunter.kube.controllers.plan import Create, Patch

NAMESPACE = MetadataOnly(metadata=ObjectMeta(name="team-a"))


def test_new_namespace_gets_its_account_and_the_authority() -> None:
    writes = plan(Observed(namespace=NAMESPACE), "PEM").writes
    assert all(isinstance(write, Create) for write in writes)
    bodies = [write.body for write in writes if isinstance(write, Create)]
    assert [(body["kind"], body["metadata"]["name"]) for body in bodies] == [
        ("ConfigMap", "kube-root-ca.crt"),
        ("ServiceAccount", "default"),
    ]
    assert bodies[0]["data"] == {"ca.crt": "PEM"}


def test_changed_authority_is_put_right() -> None:
    (write,) = plan(Observed(namespace=NAMESPACE, has_account=True, root_ca="old"), "PEM").writes
    assert isinstance(write, Patch)
    assert write.patch == {"data": {"ca.crt": "PEM"}}


def test_complete_namespace_gets_nothing() -> None:
    assert plan(Observed(namespace=NAMESPACE, has_account=True, root_ca="PEM"), "PEM").writes == ()


def test_namespace_being_deleted_gets_nothing() -> None:
    going = MetadataOnly(metadata=ObjectMeta(name="team-a", deletion_timestamp=datetime(2026, 11, 21, tzinfo=UTC)))
    assert plan(Observed(namespace=going), "PEM").writes == ()
