"""A screen for tests: what happened to which object."""

from shunter.install.changes import Change


class Remembered:
    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.notes: list[str] = []
        self.total = 0

    def begin(self, total: int) -> None:
        self.total = total

    def doing(self, text: str) -> None:
        return

    def done(self, change: Change) -> None:
        self.changes.append(change)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def titles(self, verb: str) -> list[str]:
        return [change.title for change in self.changes if change.verb == verb]
