"""Where a field stands in the YAML that it was read from."""

from __future__ import annotations

import pytest
import yaml

from shunter.kube.positions import followed

TEXT = """\
base: &base
  image: a
  port: 1
spec:
  <<: *base
  image: b
  items:
  - name: one
  - name: two
"""


@pytest.mark.parametrize(
    ("path", "steps", "line"),
    [
        ([], 0, 1),
        (["spec"], 1, 4),
        (["spec", "image"], 2, 6),
        (["spec", "port"], 2, 3),
        (["spec", "items", 1], 3, 9),
        (["spec", "items", 1, "name"], 4, 9),
        (["spec", "items", 2], 2, 7),
        (["spec", "items", "name"], 2, 7),
        (["spec", "none", "x"], 1, 4),
        (["spec", "image", "x"], 2, 6),
    ],
)
def test_a_path_is_followed_as_far_as_it_is_there(path: list[str | int], steps: int, line: int) -> None:
    loader = yaml.SafeLoader(TEXT)
    root = loader.get_single_node()
    assert root is not None
    loader.construct_document(root)
    found = followed(root, path)
    assert (found.steps, found.mark.line + 1) == (steps, line)
