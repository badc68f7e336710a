"""hf://, by the real library, from a small hub on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from initializers.conftest import Initialize
from initializers.file_server import COMMIT, FileServer
from shunter.initializers import fetching

pytestmark = pytest.mark.integration

pytest.importorskip("huggingface_hub")

BIG = bytes(range(256)) * 10_000
MODEL = {
    "config.json": b"{}",
    "model.safetensors": BIG,
    "pytorch_model.bin": b"other weights",
    "README.md": b"#",
    "sub/tokenizer.model": b"t",
}
DATASET = {"data/train.parquet": BIG, "README.md": b"#", "weights.bin": b"b"}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    server = FileServer()
    server.add_repository("model", "acme/bert", MODEL, large=("model.safetensors",))
    server.add_repository("dataset", "acme/alpaca", DATASET, large=("data/train.parquet",))
    # As HF_ENDPOINT does when the library is imported.
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", server.url)
    monkeypatch.setattr(
        "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", server.url + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr("huggingface_hub.hf_api.constants.ENDPOINT", server.url)
    yield server
    server.stop()


def test_of_a_model_only_what_is_needed_is_fetched(hub: FileServer, initialize: Initialize) -> None:
    done = initialize("hf://acme/bert", role="model")
    assert (done.code, done.last_line) == (0, "")
    assert done.content() == {name: MODEL[name] for name in ("config.json", "model.safetensors", "sub/tokenizer.model")}
    assert not (done.directory / fetching.STATE / "hub").exists()


def test_patterns_replace_what_is_left_out(hub: FileServer, initialize: Initialize) -> None:
    done = initialize("hf://acme/bert", role="model", IGNORE_PATTERNS="*.safetensors")
    assert set(done.content()) == {"config.json", "sub/tokenizer.model"}


@pytest.mark.parametrize("uri", ["hf://acme/alpaca", "hf://acme/alpaca/data"])
def test_of_a_dataset_everything_is_fetched(hub: FileServer, initialize: Initialize, uri: str) -> None:
    assert initialize(uri).content() == DATASET


def test_a_run_after_a_complete_one_fetches_nothing(hub: FileServer, initialize: Initialize) -> None:
    initialize("hf://acme/alpaca")
    before = len(hub.asked)
    assert initialize("hf://acme/alpaca").lines[-1].startswith("Complete: 3 files, 0 B fetched")
    assert [asked.path for asked in hub.asked[before:]] == ["/api/datasets/acme/alpaca"]


def test_a_broken_answer_is_gone_on_with(hub: FileServer, initialize: Initialize, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1000)
    path = f"/datasets/acme/alpaca/resolve/{COMMIT}/data/train.parquet"
    hub.breaks[path] = [1_000_000]
    assert initialize("hf://acme/alpaca").content() == DATASET
    assert any(asked.headers.get("range", "").startswith("bytes=1000000-") for asked in hub.asked_for(path))


def test_a_damaged_file_is_not_accepted(hub: FileServer, initialize: Initialize, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "ATTEMPTS", 1)
    hub.files[f"/acme/bert/resolve/{COMMIT}/config.json"] = b"[]"
    done = initialize("hf://acme/bert", role="model")
    assert done.code == 3
    assert "config.json is damaged: its git is" in done.last_line
    assert "config.json" not in done.content()


def test_a_token_is_shown_to_the_hub(hub: FileServer, initialize: Initialize) -> None:
    hub.token = "hf_s3cr3t"
    assert initialize("hf://acme/alpaca", ACCESS_TOKEN="hf_s3cr3t").content() == DATASET


def test_who_shows_no_token_is_told_where_it_belongs(hub: FileServer, initialize: Initialize) -> None:
    hub.token = "hf_s3cr3t"
    done = initialize("hf://acme/alpaca")
    assert done.code == 2
    assert done.last_line.startswith("hf://acme/alpaca: ")
    assert done.last_line.endswith("Give ACCESS_TOKEN in a Secret that secretRef of the TrainJob's initializer names.")


def test_who_has_not_accepted_the_terms_of_a_gated_repository_is_told_to(hub: FileServer, initialize: Initialize) -> None:
    hub.gated.add("acme/alpaca")
    done = initialize("hf://acme/alpaca", ACCESS_TOKEN="hf_s3cr3t")
    assert done.code == 2
    assert "acme/alpaca is gated, and the owner of the token has no access. Accept its terms on the hub." in done.last_line


def test_a_repository_that_is_not_there_is_named(hub: FileServer, initialize: Initialize) -> None:
    done = initialize("hf://acme/none")
    assert done.code == 2
    assert done.last_line.startswith("hf://acme/none: The hub knows no dataset acme/none, or does not show it. ")


@pytest.mark.parametrize("uri", ["hf://a/b/c", "hf://bad..name/x"])
def test_a_name_that_is_none_is_said(hub: FileServer, initialize: Initialize, uri: str) -> None:
    done = initialize(uri, role="model")
    assert (done.code, "is not the name of a repository" in done.last_line) == (2, True)


def test_a_hub_that_is_away_is_said(hub: FileServer, initialize: Initialize, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "ATTEMPTS", 1)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:1")
    done = initialize("hf://acme/alpaca")
    assert (done.code, "The hub cannot be reached" in done.last_line) == (3, True)
