"""Changes to kustomizations that leave the rest of the text alone."""

from __future__ import annotations

import pytest

from shunter.migrate.conversion.gitops.editing import with_item, with_patch, without_items

TEXT = """\
# top
resources:   # what
  - a.yaml
  # b is big
  - b.yaml

patches:
  - path: one.yaml   # one
  # about two
  - target: {kind: PyTorchJob}
    patch: |-
      - op: remove
        path: /spec
  # about three
  - path: three.yaml
# last
images: []
"""


def test_items_go_alone() -> None:
    left = without_items(TEXT, "patches", [1])
    assert left == TEXT.replace(
        """\
  - target: {kind: PyTorchJob}
    patch: |-
      - op: remove
        path: /spec
""",
        "",
    )


def test_a_list_goes_with_its_last_item() -> None:
    assert "patches:" not in without_items(TEXT, "patches", [0, 1, 2])
    assert without_items(TEXT, "patches", [0, 1, 2]).endswith("# last\nimages: []\n")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (TEXT, TEXT.replace("  - b.yaml\n", "  - b.yaml\n  - c.yaml\n")),
        ("resources:\n- a.yaml", "resources:\n- a.yaml\n- c.yaml"),
        ("namePrefix: x-\n\n\n", "namePrefix: x-\nresources:\n- c.yaml\n"),
        ("resources: [a.yaml]\n", "resources:\n- a.yaml\n- c.yaml\n"),
        ("resources:\n- c.yaml\n", "resources:\n- c.yaml\n"),
    ],
    ids=["indented list", "no last line break", "no list", "in brackets", "there already"],
)
def test_an_item_comes_to_the_end_of_its_list(text: str, wanted: str) -> None:
    assert with_item(text, "resources", "c.yaml") == wanted


BRACKETS = """\
resources: [../base, "a.yaml"]   # all of it
images:
- name: example.org/train
  newTag: "7e12345"   # {"$imagepolicy": "flux-system:train:tag"}
patches: [{path: one.yaml}, {path: two.yaml, target: {kind: PyTorchJob}}]
components: [
  # only here
  ../debug,
]
"""


@pytest.mark.parametrize(
    ("edited", "before", "after"),
    [
        (
            with_item(BRACKETS, "resources", "c.yaml"),
            'resources: [../base, "a.yaml"]   # all of it\n',
            'resources:   # all of it\n- ../base\n- "a.yaml"\n- c.yaml\n',
        ),
        (
            without_items(BRACKETS, "patches", [1]),
            "patches: [{path: one.yaml}, {path: two.yaml, target: {kind: PyTorchJob}}]\n",
            "patches:\n- {path: one.yaml}\n",
        ),
        (
            without_items(BRACKETS, "patches", [0, 1]),
            "patches: [{path: one.yaml}, {path: two.yaml, target: {kind: PyTorchJob}}]\n",
            "",
        ),
        (
            with_item(BRACKETS, "components", "more"),
            "components: [\n  # only here\n  ../debug,\n]\n",
            "components:\n# only here\n- ../debug\n- more\n",
        ),
    ],
    ids=["one more", "one less", "none left", "in several lines"],
)
def test_a_list_in_brackets_changes_and_nothing_beside_it(edited: str, before: str, after: str) -> None:
    assert before in BRACKETS
    assert edited == BRACKETS.replace(before, after)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("patches: []   # none yet\nnamePrefix: x-\n", "# none yet\nnamePrefix: x-\n"),
        ("patches:\n# - path: big.yaml\nnamePrefix: x-\n", "# - path: big.yaml\nnamePrefix: x-\n"),
    ],
    ids=["brackets with nothing in them", "all commented out"],
)
def test_an_empty_list_does_not_stand_beside_the_new_one(text: str, left: str) -> None:
    assert with_patch(text, "new.yaml") == f"{left}patches:\n- path: new.yaml\n"


def test_a_patch_comes_behind_the_others() -> None:
    assert "  - path: three.yaml\n  - path: new.yaml\n# last\n" in with_patch(TEXT, "new.yaml")


def test_a_byte_order_mark_does_not_shift_what_changes() -> None:
    text = "\ufeffresources: [a.yaml]\npatches: []\nnamePrefix: x-\n"
    assert with_patch(text, "new.yaml") == "\ufeffresources: [a.yaml]\nnamePrefix: x-\npatches:\n- path: new.yaml\n"
    assert with_item(text, "resources", "b") == "\ufeffresources:\n- a.yaml\n- b\npatches: []\nnamePrefix: x-\n"
