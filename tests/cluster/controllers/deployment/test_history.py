"""The numbers of a Deployment's versions, which stand in annotations that anybody may write."""

from __future__ import annotations

import pytest

from shunter.api.meta import ObjectMeta
from shunter.cluster.controllers.deployment.history import REVISION, revision


@pytest.mark.parametrize(("text", "found"), [("3", 3), ("", 0), ("-3", 0), ("2147483648", 0), ("9" * 5000, 0)])
def test_a_revision_that_is_no_number_of_32_bits_is_none(text: str, found: int) -> None:
    assert revision(ObjectMeta(name="d", annotations={REVISION: text})) == found
