"""What never travels, whatever git or the user's patterns say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.launch.code.files import selection

SECRETS = (
    *(".env", ".env.local", ".envrc", ".ENV", "server.pem", "tls.key", "Key.PEM", "store.p12", "a.kubeconfig"),
    *("id_rsa", "id_ed25519", "id_rsa.pub", "id_ecdsa_sk", "id_work", "ID_RSA"),
    *(".netrc", ".pypirc", ".git-credentials", "kubeconfig"),
)
SECRET_DIRECTORIES = (".aws", ".kube", ".ssh", ".gnupg", ".git", ".docker", ".env.d")
BULK = ("weights.pt", "model.safetensors", "last.ckpt", "model.pth", "mlflow.db")
BULK_DIRECTORIES = ("mlruns", "wandb", "__pycache__", ".venv", "venv", "node_modules")
names = st.one_of(
    st.text(alphabet="abcXYZ019-_. é", min_size=1, max_size=8).filter(lambda name: name.strip(". ") != ""),
    st.sampled_from(["id_work.old", "id_map.py"]),
)
folders = st.lists(names, max_size=3)


@given(folders, st.sampled_from(SECRETS + BULK), st.lists(st.sampled_from(["!*", "!.env", "!**/*", "*.txt"]), max_size=3))
def test_a_secret_never_travels(above: list[str], name: str, patterns: list[str]) -> None:
    path = "/".join([*above, name])
    assert selection([path, "train.py"], patterns).kept in (["train.py"], [])


@given(folders, st.sampled_from(SECRET_DIRECTORIES + BULK_DIRECTORIES), folders, names)
def test_nothing_in_a_directory_of_secrets_travels(above: list[str], directory: str, below: list[str], name: str) -> None:
    path = "/".join([*above, directory, *below, name])
    assert path not in selection([path]).kept


@pytest.mark.parametrize("name", ["train.py", "id_map.py", "id_maps/a.py", "environment.yaml", "keys.py", "pt.py", "data/x.json"])
def test_code_travels(name: str) -> None:
    assert selection([name]) == ([name], [])


def test_a_virtual_environment_of_any_name_stays_behind() -> None:
    files = ["train.py", "my-env/pyvenv.cfg", "my-env/lib/site.py", "my-env-tools.py", "sub/e/pyvenv.cfg", "sub/e/a.py"]
    assert selection(files).kept == ["my-env-tools.py", "train.py"]


def test_patterns_are_those_of_gitignore() -> None:
    files = ["data/a.bin", "data/keep.txt", "deep/data/b.bin", "train.py", "tests/test_a.py"]
    assert selection(files, ["*.bin", "!data/a.bin", "/tests/", "# a comment", ""]).kept == [
        "data/a.bin",
        "data/keep.txt",
        "train.py",
    ]


def test_what_stays_behind_although_it_was_asked_for_is_known() -> None:
    assert selection([".env", "model.pt", "notes.bin", "train.py"], ["*.bin"]) == (["train.py"], [".env", "model.pt"])


def test_a_line_brings_back_files_of_a_directory_that_a_line_above_leaves_out() -> None:
    """Otherwise than in a .gitignore."""
    files = ["train.py", "data.csv", "pkg/model.py", "pkg/deep/layers.py", "pkg/notes.txt"]
    assert selection(files, ["*", "!*.py"]).kept == ["pkg/deep/layers.py", "pkg/model.py", "train.py"]
    assert selection(files, ["!*.py", "pkg/"]).kept == ["data.csv", "train.py"]
