"""Environments of this machine that stand for images, and their records."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shunter.cluster.node.content.image_environments import RECORD, ImageEnvironment, place, recorded


def test_a_damaged_record_is_told_of_by_its_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good = ImageEnvironment(image="good:1", requirements=("a",), build=1, python="3.11")
    for image, content in (("good:1", msgspec.json.encode(good)), ("bad:1", b'{"image": "ba')):
        place(tmp_path, image).mkdir()
        (place(tmp_path, image) / RECORD).write_bytes(content)
    assert recorded(tmp_path) == recorded(tmp_path) == [good]
    assert f"{place(tmp_path, 'bad:1') / RECORD} cannot be read" in caplog.text
    assert len(caplog.records) == 1, "once, though each container reads them"
