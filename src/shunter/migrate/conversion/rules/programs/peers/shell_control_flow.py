"""Loops and conditions of a shell text: which answers of look-ups a loop goes over, and which commands run by a test of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands import shell
from shunter.jobs.commands.shell_words import Word
from shunter.migrate.conversion.rules.programs.peers.peer_numbers import NOTHING, Values, chosen_by

_JOINED = late_pattern(r"&&|\|\||\b(?:then|else|elif)\b")
"""What stands between a condition and what is done by it."""


class Loops:
    """The loops of a script, and the answers that each goes over."""

    def __init__(self, script: shell.Script) -> None:
        self._waiting = sorted((*script.loops, *script.reading_loops), key=lambda loop: -loop.start)
        self._all = self._waiting[::-1]
        self.over: dict[int, Values] = {}

    def entered(self, place: int) -> Iterator[shell.Loop]:
        """The loops that begin between the place of the last call and this one."""
        while self._waiting and self._waiting[-1].start <= place:
            yield self._waiting.pop()

    def go_over(self, values: Values) -> None:
        """The condition of the next loop reads these values one by one: `while read`, `while getent hosts peer-$i`."""
        if self._waiting and values:
            self.over[self._waiting.pop().start] = frozenset(value for value in values if not value.is_number)

    def around(self, place: int) -> Values:
        """What the loops around the place go over."""
        if not self.over:
            return NOTHING
        return frozenset().union(*(self.over.get(loop.start, NOTHING) for loop in self._all if loop.start <= place < loop.end))


class Conditions:
    """The conditions of a script: which answers they test, and which commands they choose by them."""

    def __init__(self, text: str, script: shell.Script) -> None:
        self._text, self._words = text, script.words
        self._end = self._word = self._open = 0
        self.tested = NOTHING
        """The values that the condition before the command tests."""

    def chosen(self, command: shell.Command, values: Callable[[Sequence[Word]], Values]) -> Values:
        """What is chosen by the conditions that the command is a branch of. To be called for each command in turn."""
        between = self._text[self._end : command.start]
        for word in re.findall(r"\b(?:then|elif|fi|case|esac)\b", between):
            self._open = max(self._open + (1 if word in {"then", "case"} else -1), 0)
        heads = self._between(command.start)
        if "[[" in between or "case" in between:
            self.tested |= values(heads)
        if not self._open and not _JOINED.search(between):
            self.tested = NOTHING
        words = (*command.words, *(word for _, word in command.assignments))
        self._end = max(word.end for word in words)
        return chosen_by(self.tested)

    def _between(self, place: int) -> Sequence[Word]:
        """The words before the place that belong to no command."""
        first = self._word
        while self._word < len(self._words) and self._words[self._word].start < place:
            self._word += 1
        return [word for word in self._words[first : self._word] if word.start >= self._end]
