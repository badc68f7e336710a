"""Counts of requests, kept as plain numbers and put into Prometheus' form only when somebody asks."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable

from shunter.cluster.apiserver.storage.store import Store

BUCKETS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 1.0, 5.0, 30.0)
"""Seconds."""


class Metrics:
    """What the API server counts about itself, with the names of kube-apiserver's metrics."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, str, int]] = Counter()
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._seconds: Counter[str] = Counter()
        self.watches = 0
        """Open watches."""

    def observe(self, verb: str, group: str, resource: str, code: int, seconds: float) -> None:
        """Counts an answered request. How long it took, in seconds, is left out for the verbs `watch` and `connect`."""
        self._requests[verb, group, resource, code] += 1
        if verb in ("watch", "connect"):
            return
        self._buckets[verb][bisect_left(BUCKETS, seconds)] += 1
        self._seconds[verb] += seconds  # type: ignore[assignment]

    def exposition(self, store: Store) -> bytes:
        """The text of /metrics."""
        lines = [*self._request_lines(), *self._duration_lines(), *self._object_lines(store)]
        return ("\n".join(lines) + "\n").encode()

    def _request_lines(self) -> Iterable[str]:
        yield "# TYPE apiserver_request_total counter"
        for (verb, group, resource, code), count in sorted(self._requests.items()):
            labels = f'verb="{verb.upper()}",group="{group}",resource="{resource}",code="{code}"'
            yield f"apiserver_request_total{{{labels}}} {count}"

    def _duration_lines(self) -> Iterable[str]:
        yield "# TYPE apiserver_request_duration_seconds histogram"
        for verb, buckets in sorted(self._buckets.items()):
            total = 0
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), buckets, strict=True):
                total += count
                yield f'apiserver_request_duration_seconds_bucket{{verb="{verb.upper()}",le="{bound}"}} {total}'
            yield f'apiserver_request_duration_seconds_sum{{verb="{verb.upper()}"}} {self._seconds[verb]:.6f}'
            yield f'apiserver_request_duration_seconds_count{{verb="{verb.upper()}"}} {total}'
        yield "# TYPE apiserver_longrunning_requests gauge"
        yield f'apiserver_longrunning_requests{{verb="WATCH"}} {self.watches}'

    def _object_lines(self, store: Store) -> Iterable[str]:
        yield "# TYPE apiserver_storage_objects gauge"
        for collection in store.collections():
            name = f"{collection.plural}.{collection.group}" if collection.group else collection.plural
            yield f'apiserver_storage_objects{{resource="{name}"}} {len(collection)}'
