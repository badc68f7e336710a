"""The fields of pods, as ownership looks at them."""

from __future__ import annotations

import pytest

from shunter.cluster.apiserver.apply.fields import FieldTree, compile_fields
from shunter.cluster.apiserver.packaged_schemas import definitions


@pytest.fixture(scope="module")
def tree() -> FieldTree:
    return compile_fields({"$ref": "#/components/schemas/io.k8s.api.core.v1.Pod"}, definitions())
