"""http(s)://: one file, from a real server that breaks off, changes its mind, and asks who one is."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator

import pytest

from initializers.conftest import Initialize
from initializers.file_server import FileServer
from shunter.initializers import fetching

pytestmark = pytest.mark.integration

CONTENT = bytes(range(256)) * 1000
PATH = "/data/train.bin"
ADVICE = "Look at the address, and at the pod's network."


@pytest.fixture
def server() -> Iterator[FileServer]:
    running = FileServer()
    running.files[PATH] = CONTENT
    yield running
    running.stop()


def test_a_file_is_fetched_and_not_fetched_again(server: FileServer, initialize: Initialize) -> None:
    done = initialize(server.url + PATH)
    assert (done.code, done.content()) == (0, {"train.bin": CONTENT})
    assert done.lines[0] == f"Fetching the dataset {server.url}{PATH} into {done.directory}."
    assert done.lines[-1].startswith("Complete: 1 file, 256.0 kB fetched in ")
    before = len(server.asked)
    again = initialize(server.url + PATH)
    assert again.lines[1:] == ["1 file, 256.0 kB, of which 1 already exist.", again.lines[-1]]
    assert len(server.asked) == before + 1


def test_a_broken_answer_is_gone_on_with(server: FileServer, initialize: Initialize) -> None:
    server.breaks[PATH] = [1000, 100_000]
    done = initialize(server.url + PATH)
    assert (done.code, done.content()) == (0, {"train.bin": CONTENT})
    ranges = [asked.headers.get("range") for asked in server.asked_for(PATH)]
    assert ranges == ["bytes=0-0", None, "bytes=1000-", "bytes=101000-"]
    assert done.lines[-1].startswith("Complete: 1 file, 256.0 kB fetched")


def test_a_killed_fetch_is_gone_on_with(server: FileServer, initialize: Initialize, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "ATTEMPTS", 1)
    server.breaks[PATH] = [5000]
    assert initialize(server.url + PATH).code == 3
    assert initialize(server.url + PATH).content() == {"train.bin": CONTENT}
    assert server.asked_for(PATH)[-1].headers["range"] == "bytes=5000-"


def test_a_file_that_changed_meanwhile_is_fetched_from_its_beginning(
    server: FileServer, initialize: Initialize, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "ATTEMPTS", 1)
    server.breaks[PATH] = [5000]
    assert initialize(server.url + PATH).code == 3
    server.files[PATH] = b"other" * 100
    assert initialize(server.url + PATH).content() == {"train.bin": b"other" * 100}


def test_a_broken_answer_of_a_server_that_tells_only_dates_is_gone_on_with(server: FileServer, initialize: Initialize) -> None:
    date = "Sat, 21 Nov 2026 10:00:00 GMT"
    server.headers[PATH] = {"ETag": "", "Last-Modified": date}
    server.breaks[PATH] = [1000]
    assert initialize(server.url + PATH).content() == {"train.bin": CONTENT}
    last = server.asked_for(PATH)[-1].headers
    assert (last["range"], last["if-range"]) == ("bytes=1000-", date)


def test_a_name_is_fetched_as_people_write_it(server: FileServer, initialize: Initialize) -> None:
    server.files["/donn%C3%A9es%20du%20jour.csv"] = b"x"
    assert initialize(f"{server.url}/donn\u00e9es du jour.csv").content() == {"donn\u00e9es du jour.csv": b"x"}


def test_trouble_of_the_network_is_not_said_to_be_the_disks(
    server: FileServer, initialize: Initialize, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object) -> bytes:
        raise OSError(errno.EHOSTUNREACH, "No route to host")

    monkeypatch.setattr(fetching, "ATTEMPTS", 1)
    monkeypatch.setattr("http.client.HTTPResponse.read", unreachable)
    assert "cannot be reached: No route to host. " + ADVICE in initialize(server.url + PATH).last_line


def test_a_server_without_ranges_is_asked_for_all_of_it(server: FileServer, initialize: Initialize) -> None:
    server.has_ranges = False
    server.breaks[PATH] = [1, 5000]
    assert initialize(server.url + PATH).content() == {"train.bin": CONTENT}


def test_trouble_that_passes_is_waited_out(server: FileServer, initialize: Initialize) -> None:
    server.answers[PATH] = []
    first = initialize(server.url + PATH)
    assert first.code == 0
    server.files["/other"] = b"x"
    server.answers["/other"] = [503]
    failed = initialize(server.url + "/other")
    assert (failed.code, failed.last_line) == (
        3,
        f"{server.url}/other: the server answers 503 Service Unavailable. Try again later.",
    )


def test_a_checksum_in_the_address_is_held_to(server: FileServer, initialize: Initialize) -> None:
    good = hashlib.sha256(CONTENT).hexdigest()
    assert initialize(f"{server.url}{PATH}#sha256={good}").code == 0


def test_a_damaged_file_never_gets_its_name(server: FileServer, initialize: Initialize, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "ATTEMPTS", 2)
    done = initialize(f"{server.url}{PATH}#sha256={'0' * 64}")
    assert (done.code, done.content()) == (3, {})
    assert "train.bin is damaged: its sha256 is" in done.last_line
    assert len(server.asked_for(PATH)) == 3


def test_what_the_server_says_of_the_file_is_held_to(
    server: FileServer, initialize: Initialize, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "ATTEMPTS", 1)
    server.headers[PATH] = {"Repr-Digest": "sha-256=:AAAA:"}
    assert "is damaged" in initialize(server.url + PATH).last_line


def test_a_token_is_shown_to_the_server_and_to_nobody_it_sends_us_to(server: FileServer, initialize: Initialize) -> None:
    store = FileServer()
    store.files["/blob"] = CONTENT
    server.token = "s3cr3t-token"
    server.redirects[PATH] = f"{store.url}/blob"
    done = initialize(server.url + PATH, ACCESS_TOKEN="s3cr3t-token")
    store.stop()
    assert done.content() == {"train.bin": CONTENT}
    assert all("authorization" not in asked.headers for asked in store.asked)


@pytest.mark.parametrize(
    ("uri", "code", "last_line"),
    [
        ("{url}/none", 2, "{url}/none: the server answers 404 Not Found. Check the address: the file does not exist."),
        ("{url}/", 2, "{url}/: {url}/ does not end with the name of a file. Name one file."),
        ("http://127.0.0.1:1/a", 3, "http://127.0.0.1:1/a: 127.0.0.1:1 cannot be reached: Connection refused. {advice}"),
    ],
)
def test_the_last_line_names_address_cause_and_remedy(
    server: FileServer, initialize: Initialize, uri: str, code: int, last_line: str
) -> None:
    done = initialize(uri.format(url=server.url))
    assert (done.code, done.last_line) == (code, last_line.format(url=server.url, advice=ADVICE))


def test_who_shows_no_token_is_told_where_it_belongs(server: FileServer, initialize: Initialize) -> None:
    server.token = "s3cr3t-token"
    done = initialize(server.url + PATH)
    assert done.code == 2
    assert done.last_line.endswith(
        "the server answers 401 Unauthorized. Give ACCESS_TOKEN in a Secret that secretRef of the TrainJob's initializer names."
    )
