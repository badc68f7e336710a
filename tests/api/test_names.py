"""Names: which texts fit each form. The sentences are held to a real API server in tests/cluster/apiserver/builtin."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shunter.api import names

_FORMS: dict[str, tuple[Callable[[str], list[str]], list[str], list[str]]] = {
    "subdomain": (names.subdomain_faults, ["a", "a.b-c.1", "1"], ["", "A", "a_b", "-a", "a.", "a..b", "a" * 254, "a\n"]),
    "label": (names.label_faults, ["a", "1-a"], ["", "a.b", "a-", "a" * 64]),
    "label of RFC 1035": (names.label_1035_faults, ["a1"], ["1a", "a.b", ""]),
    "path segment": (names.path_segment_faults, ["system:x", "A_b"], [".", "..", "a/b", "a%b"]),
    "label key": (names.label_key_faults, ["a", "example.com/A_b.c"], ["", "/a", "x/", "a/b/c", "a b", "X/a"]),
    "label value": (names.label_value_faults, ["", "A_b.c-1"], ["-a", "a b", "a" * 64]),
    "config key": (names.config_key_faults, [".env", "a_B-c.d"], ["", ".", "..", "..a", "a/b"]),
    "port name": (names.port_name_faults, ["http", "h2-c"], ["", "80", "A", "a--b", "-a", "a" * 16]),
    "image": (
        names.image_faults,
        [
            "a",
            "train:1",
            "pytorch/pytorch:2.0.1-cuda11.8-cudnn8-runtime",
            "localhost:5000/a_b/c__d/e--f:V1.0_x",
            "Host.io/a",
            "gcr.io/a/b@sha256:" + "0" * 64,
            "gcr.io/a/b:1@sha256:" + "0" * 64,
            "[2001:db8::1]:5000/x",
            "[fd00::A]/team/train:1",
        ],
        [
            *(
                "",
                "my image",
                "Train",
                "team/Train:1",
                "a:",
                "a/",
                "/a",
                "a//b",
                "a@sha256:1",
                "https://a/b",
                "a:" + "t" * 129,
                "a\n",
            ),
            *("2001:db8::1/x", "[]/x", "[fe80::1%eth0]/x", "[::ffff:10.0.0.1]/x", "[::1]"),
        ],
    ),
    "environment name": (names.environment_name_faults, ["A", "a b", "1.x"], ["", "a=b", "é"]),
}


@pytest.mark.parametrize(
    ("faults", "text"),
    [pytest.param(form[0], text, id=f"{name}: {text[:20]!r}") for name, form in _FORMS.items() for text in form[1]],
)
def test_a_text_of_the_form_has_no_fault(faults: Callable[[str], list[str]], text: str) -> None:
    assert faults(text) == []


@pytest.mark.parametrize(
    ("faults", "text"),
    [pytest.param(form[0], text, id=f"{name}: {text[:20]!r}") for name, form in _FORMS.items() for text in form[2]],
)
def test_a_text_of_another_form_has_faults(faults: Callable[[str], list[str]], text: str) -> None:
    assert faults(text)


@pytest.mark.parametrize(("number", "fits"), [(0, False), (1, True), (65535, True), (65536, False), (-1, False)])
def test_ports_go_from_1_to_65535(number: int, fits: bool) -> None:
    assert (names.port_faults(number) == []) is fits
