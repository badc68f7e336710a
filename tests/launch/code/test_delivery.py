"""Code in an archive, and in ConfigMaps."""

from __future__ import annotations

import hashlib

import pytest

from shunter.launch.code.delivery import PackedCode
from shunter.launch.code.packing import PIECE_BYTES


@pytest.mark.parametrize(("size", "pieces"), [(0, 0), (1, 1), (PIECE_BYTES, 1), (PIECE_BYTES + 1, 2)])
def test_an_archive_is_sent_in_pieces_that_are_whole_together(size: int, pieces: int) -> None:
    code = PackedCode(bytes(size))
    assert len(code.pieces) == pieces
    assert b"".join(code.pieces) == code.archive
    assert all(len(piece) <= PIECE_BYTES for piece in code.pieces)


def test_the_digest_is_that_of_the_archive_alone() -> None:
    assert PackedCode(b"a", commit="1", is_dirty=True).digest == PackedCode(b"a").digest == hashlib.sha256(b"a").hexdigest()
