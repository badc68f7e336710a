"""hf://ORGANIZATION/NAME, by huggingface_hub: a repository at the commit that is the newest when the fetch begins.

Of a model only weights in safe formats, tokenizers and configuration come along; with IGNORE_PATTERNS unset what upstream means
to leave out is left out. Every file is checked by what the hub knows of it: SHA-256 of large ones, else the git
blob. The hub is the one that HF_ENDPOINT names.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shunter.errors import EnvironmentProblem, InputError
from shunter.initializers.files import Advance, Checksum, RemoteFile
from shunter.initializers.settings import Settings

# Read when the library is imported: its own bars would fill the log.
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

from huggingface_hub import HfApi, hf_hub_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)
from huggingface_hub.utils._paths import filter_repo_objects

# Its warnings name addresses that carry signatures.
logging.getLogger("huggingface_hub").setLevel(logging.ERROR)

MODEL_PATTERNS = ("*.json", "*.safetensors", "*.model", "*.txt", "*.gguf")
MODEL_IGNORED = ("*.msgpack", "*.h5", "*.bin", "*.pt", "*.pth")
"""Other copies of the same weights, and pickles."""
TOKEN = "Give ACCESS_TOKEN in a Secret that secretRef of the TrainJob's initializer names."


class HuggingFace:
    """Fetches from Hugging Face: of a model the files of MODEL_PATTERNS without MODEL_IGNORED, which IGNORE_PATTERNS replaces; of
    a dataset all but IGNORE_PATTERNS."""

    def __init__(self, settings: Settings) -> None:
        parts = urlsplit(settings.uri)
        path = parts.path.strip("/")
        if settings.role == "dataset":
            # What follows the name is ignored upstream.
            path = path.split("/")[0]
        self._repository = "/".join(filter(None, (parts.netloc, path)))
        self._role = settings.role
        self._token = settings.access_token or False
        self._allowed = MODEL_PATTERNS if settings.role == "model" else None
        unsaid = MODEL_IGNORED if settings.role == "model" else ()
        self._ignored = unsaid if settings.ignore_patterns is None else settings.ignore_patterns
        self._commit = ""

    def files(self) -> list[RemoteFile]:
        """The files of the repository. Also fixes the commit from which `fetch` takes them."""
        with self._explained():
            found: Any = HfApi(token=self._token).repo_info(self._repository, repo_type=self._role, files_metadata=True)
            self._commit = str(found.sha)
            siblings = {sibling.rfilename: sibling for sibling in found.siblings or ()}
            names = filter_repo_objects(
                siblings, allow_patterns=self._patterns(self._allowed), ignore_patterns=list(self._ignored)
            )
            return [_described(siblings[name]) for name in names]

    def fetch(self, file: RemoteFile, part: Path, advance: Advance) -> None:
        """The library resumes by itself, in a folder beside `part`; a `part` that is there is whole."""
        if part.exists():
            advance(part.stat().st_size)
            return
        with self._explained():
            fetched = hf_hub_download(
                self._repository,
                file.path,
                repo_type=self._role,
                revision=self._commit,
                local_dir=part.parent / "hub",
                token=self._token,
                tqdm_class=_bar(advance),
            )
        Path(fetched).replace(part)

    def _patterns(self, patterns: tuple[str, ...] | None) -> list[str] | None:
        return list(patterns) if patterns else None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turns what the library raises into an error with a remedy."""
        try:
            yield
        except HFValidationError as error:
            raise InputError(f"{self._repository!r} is not the name of a repository.", "Write hf://ORGANIZATION/NAME.") from error
        except GatedRepoError as error:
            raise InputError(
                f"{self._repository} is gated, and the owner of the token has no access.",
                f"Accept its terms on the hub. {TOKEN}",
            ) from error
        except RepositoryNotFoundError as error:
            raise InputError(
                f"The hub knows no {self._role} {self._repository}, or does not show it.", f"Look at its name. {TOKEN}"
            ) from error
        except HfHubHTTPError as error:
            code = getattr(error.response, "status_code", 0)
            if code in (401, 403):
                raise InputError(f"The hub answers {code} for {self._repository}.", TOKEN) from error
            if code == 404:
                raise InputError(f"The hub answers 404: {error.server_message or error}.", "Look at the address.") from error
            raise EnvironmentProblem(f"The hub answers {code or 'nothing'}: {error}.", "Try again later.") from error
        except LocalEntryNotFoundError as error:
            raise EnvironmentProblem(
                "The hub cannot be reached.", "Look at the pod's network, its proxy, and HF_ENDPOINT."
            ) from error
        except OSError as error:
            if error.errno is not None:
                raise
            raise EnvironmentProblem(f"The hub: {error}.", "Try again later.") from error
        except Exception as error:
            # The library's HTTP client has errors of its own, which differ from release to release.
            if not type(error).__module__.partition(".")[0].startswith("httpx"):
                raise
            raise EnvironmentProblem(
                f"The hub cannot be reached: {error}.", "Look at the pod's network, its proxy, and HF_ENDPOINT."
            ) from error


def _described(sibling: Any) -> RemoteFile:
    if sibling.lfs:
        return RemoteFile(sibling.rfilename, sibling.size, sibling.lfs.sha256, Checksum("sha256", sibling.lfs.sha256))
    checksum = Checksum("git", sibling.blob_id) if sibling.blob_id else None
    return RemoteFile(sibling.rfilename, sibling.size, sibling.blob_id or "", checksum)


def _bar(advance: Advance) -> type[Any]:
    """A progress bar, as the library wants one, that only counts."""

    class Counter:
        def __init__(self, *_: object, initial: float = 0, **__: object) -> None:
            advance(int(initial))

        def update(self, count: float = 1) -> None:
            advance(int(count))

        def __enter__(self) -> Counter:
            return self

        def __exit__(self, *_: object) -> None:
            """Nothing to take down."""

        def __getattr__(self, name: str) -> Any:
            return lambda *_, **__: None

    return Counter
