"""The place of a status server whose certificate is made and renewed while it runs."""

from __future__ import annotations

from shunter.operator.trainer.statusserver.current_place import CurrentPlace


def test_who_waits_hears_of_each_change_once() -> None:
    current = CurrentPlace("https://status.example:8443")
    heard: list[str] = []
    current.on_change(lambda: heard.append(current.place.authorities))
    for authorities in (b"one", b"one", b"two"):
        current.trust(authorities)
    assert heard == ["one", "two"]
