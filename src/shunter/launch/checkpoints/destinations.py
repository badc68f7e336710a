"""Where checkpoints are kept, as it is written on a command line and as it stands in jobs. Pure but for `~`, the home directory.

A text that is taken for a place that it does not name costs a training: what it saved is found nowhere.
"""

from __future__ import annotations

import os
import posixpath

from shunter.api.names import subdomain_faults
from shunter.did_you_mean import did_you_mean, nearest
from shunter.errors import InputError
from shunter.launch.options import Checkpoints

SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "az", "adl", "hdfs", "webhdfs", "lakefs", "oci", "oss", "tos")
"""URL schemes of stores that programs write checkpoints to: s3 by s3torchconnector, the others by fsspec."""
_WITHOUT_BUCKET = ("hdfs", "webhdfs")
"""hdfs:///path is a path of the cluster that the program's Hadoop is set up for."""
_EXAMPLE = "Write s3://bucket/prefix."
_FORMS = "Write CLAIM, CLAIM:sub/path, ./directory or s3://bucket/prefix."


def read_place(text: str) -> Checkpoints:
    """The place that `CLAIM`, `CLAIM:sub/path`, a directory (it begins with `/`, `.` or `~`) or a URL names. InputError for any
    other text."""
    if "://" in text:
        return Checkpoints(url=_url(text))
    if text[:1] in ("/", ".", "~"):
        directory = os.path.expanduser(text)
        if directory.startswith("~"):
            raise InputError(f"--checkpoints {text!r}: {text.partition('/')[0]} names no home directory of this machine.", _FORMS)
        return Checkpoints(directory=os.path.abspath(directory))
    claim, _, inside = text.partition(":")
    if claim.lower() in SCHEMES and inside[:1] in ("", "/"):
        raise InputError(f"--checkpoints {text!r} is not a URL: those begin with {claim.lower()}://.", _example(claim.lower()))
    if inside.startswith("/"):
        remedy = "Use a claim (on NFS, EFS or FSx for Lustre) or a bucket: s3://bucket/prefix."
        raise InputError(f"--checkpoints {text!r}: a directory of another machine is not mounted by its path.", remedy)
    if subdomain_faults(claim) or ".." in inside.split("/"):
        raise InputError(f"--checkpoints {text!r} is neither a claim, a directory nor a URL.", _FORMS)
    return Checkpoints(claim=claim, inside=posixpath.normpath(inside) if inside.strip("/.") else "")


def _url(text: str) -> str:
    """Without a slash at its end; the scheme in lower case, as the libraries want it."""
    scheme, _, rest = text.partition("://")
    scheme, (bucket, _, path) = scheme.lower(), rest.partition("/")
    what = f"--checkpoints {text!r}"
    if scheme in ("file", "local"):
        raise InputError(f"{what} names a directory as a URL.", f"Write the directory: --checkpoints /{rest.strip('/')}")
    if scheme not in SCHEMES:
        close = [f"{known}://" for known in nearest(scheme, SCHEMES)]
        known = f"Known are {', '.join(f'{known}://' for known in SCHEMES)}."
        raise InputError(f"{what}: {scheme}:// is not a known store.", did_you_mean(close, known))
    user, _, host = bucket.rpartition("@")
    if ":" in user:
        hidden = f"{scheme}://***@{host}"
        raise InputError(
            f"--checkpoints {hidden} contains credentials, which everyone who may read the job could read.",
            "Remove them from the URL, and pass them in a Secret: --env-from secret/NAME.",
        )
    if not bucket.strip("@.") and scheme not in _WITHOUT_BUCKET:
        raise InputError(f"{what} names no bucket.", _example(scheme))
    if any(sign.isspace() or sign in "?#*" for sign in rest) or ".." in path.split("/"):
        raise InputError(f"{what} is not the URL of a prefix in a bucket.", _example(scheme))
    if not bucket and not path.strip("/"):
        raise InputError(f"{what} names no directory.", f"Write {scheme}://HOST/path.")
    return f"{scheme}://{rest.rstrip('/')}"


def _example(scheme: str) -> str:
    return _EXAMPLE.replace("s3", scheme)
