"""The user and groups of a client certificate."""

from __future__ import annotations

from shunter.kube.tls.certificate_user import user_and_groups, with_authenticated


def test_the_common_name_is_the_user_and_every_organization_a_group() -> None:
    subject = ((("organizationName", "system:masters"),), (("organizationName", "trainers"),), (("commonName", "admin"),))
    assert user_and_groups({"subject": subject}) == ("admin", ("system:masters", "trainers", "system:authenticated"))


def test_attributes_may_share_a_name_part() -> None:
    subject = ((("commonName", "node"), ("organizationName", "system:nodes")),)
    assert user_and_groups({"subject": subject}) == ("node", ("system:nodes", "system:authenticated"))


def test_a_certificate_without_a_name_is_nobodys() -> None:
    assert user_and_groups({}) == ("", ("system:authenticated",))


def test_the_group_of_all_users_is_added_once() -> None:
    assert with_authenticated(("a", "system:authenticated")) == ("a", "system:authenticated")


def test_of_several_names_the_last_counts_as_go_reads_it() -> None:
    subject = ((("commonName", "admin"),), (("commonName", "node"),))
    assert user_and_groups({"subject": subject})[0] == "node"
