"""How objects are named in sentences."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.titles import title_of


@pytest.mark.parametrize(
    ("metadata", "title"),
    [
        ({"namespace": "training", "name": "bert"}, "PyTorchJob training/bert"),
        ({"namespace": "", "name": "bert"}, "PyTorchJob bert"),
        ({"name": "bert"}, "PyTorchJob bert"),
    ],
)
def test_an_object_is_named_by_kind_and_place(metadata: dict[str, Any], title: str) -> None:
    assert title_of({"kind": "PyTorchJob", "metadata": metadata}) == title
