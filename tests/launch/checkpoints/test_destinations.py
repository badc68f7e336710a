"""Places for checkpoints as people write them: read as they are meant, or refused."""

from __future__ import annotations

import os
import re

import pytest
from fsspec.registry import known_implementations

from shunter.errors import InputError
from shunter.launch.checkpoints.destinations import SCHEMES, read_place
from shunter.launch.options import Checkpoints

READ: dict[str, Checkpoints] = {
    "claim": Checkpoints(claim="claim"),
    "claim:": Checkpoints(claim="claim"),
    "claim:a/b": Checkpoints(claim="claim", inside="a/b"),
    "claim:a//b/./c/": Checkpoints(claim="claim", inside="a/b/c"),
    "claim:.": Checkpoints(claim="claim"),
    "s3://bucket": Checkpoints(url="s3://bucket"),
    "s3://bucket/p/": Checkpoints(url="s3://bucket/p"),
    "S3://bucket/P": Checkpoints(url="s3://bucket/P"),
    "abfs://container@account.dfs.core.windows.net/p": Checkpoints(url="abfs://container@account.dfs.core.windows.net/p"),
    "hdfs:///runs": Checkpoints(url="hdfs:///runs"),
    "/ck/": Checkpoints(directory="/ck"),
    "./ck": Checkpoints(directory=os.path.abspath("ck")),
    "~": Checkpoints(directory=os.path.expanduser("~")),
}


@pytest.mark.parametrize(("text", "place"), READ.items(), ids=READ)
def test_a_place_is_read(text: str, place: Checkpoints) -> None:
    assert read_place(text) == place


REFUSED = {
    "s3://": "--checkpoints 's3://' names no bucket. Write s3://bucket/prefix.",
    "S3://": "--checkpoints 'S3://' names no bucket. Write s3://bucket/prefix.",
    "s3:///": "names no bucket",
    "s3:///runs": "names no bucket",
    "gs://": "names no bucket. Write gs://bucket/prefix.",
    "hdfs://": "--checkpoints 'hdfs://' names no directory. Write hdfs://HOST/path.",
    "s3:/bucket": "--checkpoints 's3:/bucket' is not a URL: those begin with s3://. Write s3://bucket/prefix.",
    "S3:/bucket": "those begin with s3://",
    "s3:": "those begin with s3://",
    "://bucket": ":// is not a known store",
    "s33://bucket": "s33:// is not a known store. Did you mean s3://?",
    "https://bucket.s3.amazonaws.com": "https:// is not a known store. Known are s3://, gs://,",
    "file:///ck": "--checkpoints 'file:///ck' names a directory as a URL. Write the directory: --checkpoints /ck",
    "s3://key:word@bucket/p": "--checkpoints s3://***@bucket contains credentials",
    "s3://bucket/a b": "is not the URL of a prefix in a bucket",
    "s3://bucket/../x": "is not the URL of a prefix in a bucket",
    "s3://bucket/p?versionId=3": "is not the URL of a prefix in a bucket",
    "nas:/export/ck": "a directory of another machine is not mounted by its path. Use a claim",
    "claim:../x": "--checkpoints 'claim:../x' is neither a claim, a directory nor a URL.",
    "runs/lm": "--checkpoints 'runs/lm' is neither a claim",
    " ": "is neither a claim",
    "": "is neither a claim",
    "~nobody-of-this-name/ck": "~nobody-of-this-name names no home directory of this machine",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=REFUSED)
def test_a_text_that_names_no_place_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as refusal:
        read_place(text)
    assert "word" not in str(refusal.value), "nothing of a password is shown"


def test_the_schemes_are_those_of_fsspec() -> None:
    # adlfs, which is not installed here, brings this one for abfs.
    assert set(SCHEMES) - {"abfss"} <= set(known_implementations)
