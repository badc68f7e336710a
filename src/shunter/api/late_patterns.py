"""Regular expressions that are compiled when they are first asked.

Hundreds tell what may stand in a program, a log or an answer. A command meets few of them, and to compile all takes a tenth to a
sixth of the time of one that reads a file or a job.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Has the methods of what `re.compile` returns, but is no instance of `re.Pattern`: functions of `re` do not take it. A fault
    of the expression is raised at its first use."""
    return cast("re.Pattern[str]", _LatePattern(text, flags))


class _LatePattern:
    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._text, self._flags)

    def __getattr__(self, name: str) -> Any:
        """Asked for what is not there yet: once for each method, which is the expression's own from then on."""
        if name.startswith("_"):  # copies and pickles ask before there is a text
            raise AttributeError(name)
        found = self.__dict__[name] = getattr(self._compiled, name)
        return found
