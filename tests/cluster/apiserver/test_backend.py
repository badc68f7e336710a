"""What stands between requests and the store."""

from __future__ import annotations

from shunter.cluster.apiserver.backend import ETCD_LIMIT, size_limit
from shunter.cluster.apiserver.storage.store import Entry


def test_only_what_is_larger_already_may_be_larger_than_etcd_takes() -> None:
    """A state directory may hold some that were stored before there was a limit, and they can be deleted."""
    assert size_limit(None) == ETCD_LIMIT
    assert size_limit(Entry("ns", "small", "u", 1, b"x" * ETCD_LIMIT)) == ETCD_LIMIT
    assert size_limit(Entry("ns", "large", "u", 1, b"x" * (ETCD_LIMIT + 1))) is None
