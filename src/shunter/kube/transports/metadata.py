"""A transport that asks for metadata only: what is read through it is PartialObjectMetadata of whatever kind."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

from shunter.kube.transport import Response, Transport

_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
_WATCH = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"


class MetadataTransport:
    """Lists and watches as metadata; other requests go through as they are. Closing it leaves the inner transport open."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        """A GET asks for a list of metadata, else for plain JSON, whatever Accept says; other methods go through as they are."""
        if method == "GET":
            headers = {**headers, "Accept": _LIST}
        return await self._inner.request(method, path, params=params, headers=headers, body=body)

    def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        """A watch asks for the metadata of each object, else for plain JSON, whatever Accept says."""
        return self._inner.stream(method, path, params=params, headers={**headers, "Accept": _WATCH})

    async def close(self) -> None:
        """Who made the inner transport closes it."""
