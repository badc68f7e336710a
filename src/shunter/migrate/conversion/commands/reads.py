"""What programs read of the pod they run in: its host name, its own addresses, variables that tell of it.

A read says whether the program only shows the value (a log line, a directory) or decides by it: cuts a number out of it, compares
it, takes it for a rank. Shell and Python have readers of their own; this module holds what they have in common.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.api.training.kinds import JOB_KINDS

HOST_NAME = "host name"
HOSTS_FILE = "/etc/hosts"
HOST_LIST = "/etc/mpi/hostfile"
"""Values that a program reads elsewhere than in a variable."""
UNREAD = "more than can be read"
"""In the place of a value: what is read here is unknown."""
OF_HOST_NAME = frozenset({"/etc/hostname", "/proc/sys/kernel/hostname"})
_PATH = late_pattern(r"/(?:etc|proc/sys/kernel)/(?:mpi/)?(?:\[h|[h?])[\w*?\[\]]*(?:\.[\w*]+)*")
"""A file, or a pattern of names."""
LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})
"""What no pod is called, in v1 or in v2: a comparison with one of them ends alike."""
TF_CONFIG = "TF_CONFIG"
BETWEEN_NAMES = frozenset({",", ";", ":", " ", "\n", "\t", None})
"""What stands between the names of a list, and between a name and its port: to cut there leaves the names whole."""
_RANK = late_pattern(
    r"(?:^|[_-])(?:(?:node|machine|global|local|host|process|proc|worker|task|shard|replica|pod|my|data)?[_-]?"
    r"(?:rank|index|idx|shard|ordinal|partition|(?:rank|shard|ordinal)[_-]?(?:from|by|on|of|key|source|src|seed))"
    r"|(?:worker|process|node|shard|task|replica|machine)[_-]?(?:id|num|number|nr))$",
    re.IGNORECASE,
)
_LAST = late_pattern(
    r"##\s*\*-"  # ${HOSTNAME##*-}
    r"|##\*\[(?:!|\^)0-9\]"
    r"|\$NF\b|\brev\b"  # awk -F- '{print $NF}', rev | cut
    r"|s(?P<mark>[/|,#])\^?\.\*-(?P=mark)(?P=mark)"  # sed 's/.*-//'
    r"|(?:\[0-9\]|\\d|\[\[:digit:\]\])[+*]?\)?\\?\)?\$"  # grep -o '[0-9]*$', re.search(r"(\d+)$")
    r"|\[-1\]|\[-1:\]|rpartition\([^)]*\)\[(?:2|-1)\]|rsplit\([^)]*\)\[1\]"
)
_ROLES = sorted({role.lower() for kind in JOB_KINDS for role in kind.roles})
_OF_ONE_ROLE = late_pattern(rf"(?:{'|'.join(_ROLES)})-(?:\\?[(\[]|\\d|[\"'/)}}])", re.IGNORECASE)
"""A number that is looked for behind a role, which v2's names do not hold: `-worker-([0-9]+)$`, `split("worker-")`."""
_SHORTEST = 4
"""Characters of a variable's name that a search among all variables must have to mean it."""
_JOINING = late_pattern(r"[\"']\s*\+\s*$")
_URL = late_pattern(r"(?:\w+:/{2,3}|@|/dev/(?:tcp|udp)/)[^\s\"']*$")
_IN_A_PATH = late_pattern(r"(?:(?<![\w:/])|(?<=[=\"']))(?:[\w.{}$-]*/)[\w./{}$-]*$")
"""A path up to the value."""
_INSERTED = late_pattern(r"[$\"']?\$?\{?\w")
_PATH_FOLLOWS = late_pattern(r"\$\{?\w+\}?/[\w$]")
_NAMED = late_pattern(
    r"(?:--?|\b)(?:[a-z]+[_-])?(?:run|experiment|exp|job|project|group|session|output|out|log|ckpt|checkpoint|save)"
    r"[_-]?(?:name|id|dir|path|tag)?(?:=|\s+)[\"']?\w*[-_]?$|(?:\bpath\.join|\bPath|\bmakedirs|\bmkdir)\([^\n]*$",
    re.IGNORECASE,
)
"""An option or a variable that names a run, up to its value, and what makes paths."""
_ANY_CASE = late_pattern(
    r"\bgrep\s+(?:-\S+\s+)*-[a-zA-Z]*i|\bsed\b.*/I|IGNORECASE|re\.I\b|nocasematch|\b(?:to)?(?:lower|upper|Lower|Upper|casefold)\b"
)
_OF_SIZE = late_pattern(
    r"\bwc\s+-l\b|\bawk\s+[\"']END\s*\{\s*print\s+NR\s*;?\s*\}|\bgrep\s+-c\s+[\"']?(?:slots=?|[.^$]|)[\"']?\s|\bnl\b"
    r"|\bsed\s+-n\s+[\"']?\$=|\b(?:awk\s+-F|cut\s+-d)\s*[\"']?=[\"']?|\bsed\s+[\"']s/(?:\.\*)?slots="
    r"|\bsum\(\(?1 for (?![^\n]* if (?!\w+(?:\.strip\(\))?\)))|\.count\([\"']\\n|\.r?split\([\"'](?: ?slots)?="
    r"|\bre\.\w+\([\"'] ?slots="
)
"""How programs take the number of lines, or what stands behind `slots=` in them."""
_BEHIND_NAMES = r"(?:[\d:,; ]|\\[nt]|(?:max[_-]?)?slots=|\$\{?\w++\}?)*+"
"""What is not a part of a name behind its end: a port or a number of slots, or a separator."""
_WHOLE_NAMES = late_pattern(
    r"\bawk\s+[\"']\{\s*print\s+\$1"
    rf"(?:\s*,\s*\\?\"{_BEHIND_NAMES}\\?\"\s*\d*|\s*\\?\"(?:[:, ]{_BEHIND_NAMES}\\?\"\s*\d*|\\?\"))?\s*;?\s*\}}[\"']"
    r"|\bsed\s+(?:-e\s+)?[\"']s/ +slots="
    rf"(?:(?:\.\*|\[0-9\]\*|\d)\$?//|(?:\.\*|\[0-9\]\*|\d)?\$?/[:, ]{_BEHIND_NAMES}/)g?[\"'](?!\s+-)"
    r"|\btr\s+(?:-s\s+)?[\"']?\\+n[\"']?\s+(?:([\"'])[:,; ]+\1|[:,]+)(?=[\s;|)`\"']|$)"
)
"""How programs take names without what stands behind them, and join them: `awk '{print $1":2"}'`, `sed 's/ slots=/:/'`,
`tr '\\n' ,`. What they append to a name is no part of it."""
_TAKES_MORE = late_pattern(
    r"\b(?:[ef]?grep|[gm]?awk|sed|perl|cut(?!\s+(?:-d\s*[\"']?[ =]|-f\s*1\b(?!\s+-d\s*[\"']?[^ =\"'])))"
    r"|tr(?!\s+-d\s+[\"']?(?:[\s,]|\\+[nrt]|\[:(?:space|blank):\])+[\"']?(?=[\s;|)`\"']|$)))\b|\b(?:worker|launcher)|\.index\("
    r"|\$\{\w+[#%:/]"
    r"|%s[\w.-]|\bxargs\s+-I\s*(?P<place>[^\s\w]+)\s[^|\n]*(?P=place)[\w.-]|\bpaste\s+(?:-s\s+)?-s?d\s*[\"']?[^\s\"',;:\\]"
)
_OF_TASK = late_pattern(r"\b(?:task|type|index)\b")


class Read(NamedTuple):
    """One place of a text where a program reads something of the pod that it runs in."""

    name: str
    """HOST_NAME, HOSTS_FILE, HOST_LIST, UNREAD, or the name of a variable."""
    start: int
    """Where it stands in its text."""
    decides: bool
    """Whether something is cut out of it, or it is compared, or taken for a rank."""
    takes_last_number: bool = False
    """Whether only the number at its end is taken."""


ReadShell = Callable[[str, Mapping[str, str]], list[Read]]
"""Reads a shell text, given the variables that hold a value of the pod. Shell texts hold Python, and Python holds shell texts:
the reader of Python is given this one."""


def is_rank(name: str) -> bool:
    """Whether a variable, an option or a setting of that name says which of several a process is, or what that is taken from:
    `NODE_RANK`, `--shard-index`, `shard_from`."""
    return bool(_RANK.search(name.lstrip("-")))


@lru_cache(maxsize=16)
def takes_last_number(text: str) -> bool:
    """Whether the text, a statement that cuts a name, takes the number at the name's end."""
    return bool(_LAST.search(text)) and not _OF_ONE_ROLE.search(text)


def sought(variables: Iterable[str], text: str) -> list[str]:
    """The variables that a search among all of them looks for in the text: by name, or by the beginning of the name."""
    words = _words_sought(text)
    return [name for name in variables if any(name[:length] in words for length in range(_SHORTEST, len(name) + 1))]


@lru_cache(maxsize=16)
def _words_sought(text: str) -> frozenset[str]:
    letters = "A-Za-z" if (is_any_case := bool(_ANY_CASE.search(text))) else "A-Z"
    return frozenset(word.upper() if is_any_case else word for word in re.findall(f"[{letters}][{letters}0-9_]*", text))


def paths(text: str) -> Iterator[tuple[str, int]]:
    """What the text reads of the pod by naming a file, or a pattern (`/etc/hostn*`): the host name, or the file itself."""
    for match in _PATH.finditer(text):
        for file in (*OF_HOST_NAME, HOSTS_FILE, HOST_LIST):
            if fnmatchcase(file, match[0]):
                yield HOST_NAME if file in OF_HOST_NAME else file, match.start()
                break


class TextLines:
    """The lines of a text. Places of one line get one and the same object: what is made of a line is then made once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._first, self._end, self._line = 0, -1, ""

    def around(self, start: int, end: int) -> str:
        """The whole lines that text[start:end] is in."""
        if self._first <= start <= end <= self._end:
            return self._line
        first, newline = self._text.rfind("\n", 0, start) + 1, self._text.find("\n", end)
        behind = len(self._text) if newline < 0 else newline
        lines = self._text[first:behind]
        if "\n" not in lines:
            self._first, self._end, self._line = first, behind, lines
        return lines


def line_of(text: str, start: int) -> str:
    """The line of the text that the place is in, without the blanks around it."""
    end = text.find("\n", start)
    return text[text.rfind("\n", 0, start) + 1 : len(text) if end < 0 else end].strip()


def is_for_a_name(text: str, start: int) -> bool:
    """Whether the value that is read there becomes a part of a path, or the name of a run: `/ckpt/$MASTER_ADDR`,
    `--run-name $MASTER_ADDR`, `os.path.join("/ckpt", os.environ["MASTER_ADDR"])`; not of an address."""
    begin = text.rfind("\n", 0, start) + 1
    before, line = _JOINING.sub("", text[begin:start]), line_of(text, start)
    behind = text[start : begin + len(text[begin:].partition("\n")[0])]
    if _URL.search(before):
        return False
    return bool(
        (_IN_A_PATH.search(before) and _INSERTED.match(behind)) or _PATH_FOLLOWS.match(behind) or _NAMED.search(before)
    ) and not line.startswith("#")


def takes_task(name: str, text: str) -> bool:
    """Whether the text takes of TF_CONFIG only what it says of the task itself, which is the same in both generations."""
    return name == TF_CONFIG and _is_of_task(text)


def takes_size(name: str, text: str) -> bool:
    """Whether the text takes of mpirun's list of hosts only how many there are, or their slots: the same in both generations."""
    return name == HOST_LIST and _takes_only(_OF_SIZE, text)


def takes_names(name: str, text: str) -> bool:
    """Whether the text takes whole names of mpirun's list of hosts: the hosts are called so in either generation."""
    return name == HOST_LIST and _takes_only(_WHOLE_NAMES, text)


@lru_cache(maxsize=32)
def _takes_only(pattern: re.Pattern[str], text: str) -> bool:
    others = pattern.sub("", text)
    return others != text and not _TAKES_MORE.search(_WHOLE_NAMES.sub("", others))


@lru_cache(maxsize=16)
def _is_of_task(text: str) -> bool:
    return bool(_OF_TASK.search(text)) and "cluster" not in text
