"""Checkpoints at a URL, for lm.py: s3:// by Amazon's own connector, gs://, abfs:// and others by fsspec.

    pip install s3torchconnector[dcp]    # s3://; credentials, AWS_REGION and AWS_ENDPOINT_URL as for every AWS tool
    pip install gcsfs                    # gs://; adlfs for abfs://

A bucket has no directories, and an object appears whole or not at all. So the rules of lm.py hold: complete is what has a
.metadata, which is written last and removed first.
"""

import fnmatch
import html
import os
import re

import fsspec
import torch.distributed.checkpoint as dcp

LASTING = re.compile(
    "NoSuchBucket|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|Forbidden|signing credentials"
    "|AuthorizationHeaderMalformed|Wrong region"
)
"""What S3 says where trying again does not help."""
HINTS = {"region": "Set AWS_REGION to that one", "(?i)token.*expire|expired.*token": "Renew the credentials, in their Secret"}
"""What to do about words in its answers."""


def bucket(url):
    """For `Checkpoints` of lm.py: the place, and what reads and writes a checkpoint in there."""
    if not url.startswith("s3://"):
        return URL(url.rstrip("/"), Store(url)), dcp.FsspecReader, dcp.FsspecWriter
    import s3torchconnector as library
    import s3torchconnector.dcp as connector

    # Self-hosted servers rarely have a host name for each bucket.
    config = library.S3ClientConfig(force_path_style="AWS_ENDPOINT_URL" in os.environ, max_attempts=3)
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    client = {"region": region, "s3client_config": config}
    store = S3(connector.S3FileSystem(**client), lambda url: library.S3IterableDataset.from_prefix(url, **client))
    return (
        URL(url.rstrip("/"), store),
        lambda path: connector.S3StorageReader(path=str(path), **client),
        lambda path, **options: connector.S3StorageWriter(path=str(path), **client, **options),
    )


class URL:
    """As much of a pathlib.Path as lm.py needs."""

    def __init__(self, url, store):
        self.url, self.store = url, store

    def __str__(self):
        return self.url

    __fspath__ = __str__

    def __truediv__(self, name):
        return URL(f"{self.url}/{name}", self.store)

    @property
    def name(self):
        return self.url.rpartition("/")[2]

    @property
    def parent(self):
        return URL(self.url.rpartition("/")[0], self.store)

    def glob(self, pattern):
        return [self / name for name in self.store.names(f"{self.url}/") if fnmatch.fnmatchcase(name, pattern)]

    def touch(self):
        self.store.create(self.url)

    def stat(self):
        if self.name not in self.store.names(f"{self.parent}/"):
            raise FileNotFoundError(f"another rank wrote {self}, but this rank cannot find it")

    def unlink(self):
        self.store.remove(self.url)

    def mkdir(self, **_):
        """There are no directories."""

    rmdir = mkdir


class S3:
    def __init__(self, objects, listed):
        self.objects, self.listed = objects, listed

    def names(self, url):
        """The names of objects below the URL, without it."""
        return [f"s3://{one.bucket}/{one.key}".removeprefix(url) for one in self.listed(url)]

    def create(self, url):
        try:
            with self.objects.create_stream(url, "wb") as stream:
                stream.write(b"lm.py looked whether it may write here")
        except Exception as error:  # which may hold the server's whole answer
            told = re.search("<Code>(.*?)</Code>.*?<Message>(.*?)</Message>", str(error), re.DOTALL)
            reason = html.unescape(f"{told[1]}, {told[2]}" if told else str(error)).rstrip(".")
            hints = [hint for words, hint in HINTS.items() if re.search(words, reason)]
            sentence = ". ".join([f"{url} cannot be written: {reason}", *hints])
            raise (PermissionError if LASTING.search(sentence) else OSError)(sentence) from error

    def remove(self, url):
        self.objects.rm_file(url)
        if self.objects.exists(url):  # the connector only logs why not
            raise PermissionError(f"{url} cannot be deleted")


class Store:
    def __init__(self, url):
        self.objects = fsspec.core.url_to_fs(url)[0]

    def names(self, url):
        root = self.objects._strip_protocol(url)
        self.objects.invalidate_cache()  # other ranks write, too
        return [name.removeprefix(root).lstrip("/") for name in self.objects.find(root)]

    def create(self, url):
        self.objects.makedirs(url.rpartition("/")[0], exist_ok=True)
        self.objects.pipe_file(url, b"lm.py looked whether it may write here")

    def remove(self, url):
        self.objects.rm_file(url)
