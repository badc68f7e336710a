"""Which names mean a rank, a number of ranks or shards, or a setting that is made of it; and what a program knows of the answers
of a look-up in DNS, or of a request to the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.commands.reads import is_rank

_COUNT = late_pattern(
    r"(?:^|[_-])(?:world[_-]?size|nnodes|nprocs?|nproc[_-]per[_-]node|np"
    r"|(?:num|n|number[_-]of|total|nr)[_-]?(?:nodes|processes|procs|machines|shards|ranks|(?P<of_any>workers|replicas)))$",
    re.IGNORECASE,
)
"""A number of ranks or shards; `of_any`, one that services of other kinds have too."""
_PER_PEER = late_pattern(
    r"(?:^|[_-])(?:lr|learning[_-]?rate|bsz?|batch(?:[_-]?size)?|(?:grad(?:ient)?[_-])?acc(?:um(?:ulation)?)?[_-]?steps"
    r"|(?:grad(?:ient)?[_-])?accum(?:ulat(?:e|ion))?|steps[_-]?per[_-]?epoch"
    r"|(?:(?:max|train|num|total|n)[_-]?)?(?:steps|iters|iterations|epochs)|(?:max|train|num|total|n)[_-]?samples)$|^--?size$",
    re.IGNORECASE,
)
"""What a program sets by the number of its processes, or that number by a name of no more words: `--size`."""
_KEY = late_pattern(r"([A-Za-z][\w.-]{0,60})[\"']?[ \t]?(?::|=)[ \t]?[\"']?(?:\d{1,4}:)?\Z")
"""A name in a text, before the value that it is given there."""
_OPTION = late_pattern(r"(?<!\S)(--?[A-Za-z][\w-]{0,60})[ \t]+[\"']?(?:\d{1,4}:)?\Z")

SHARE = "a share of the data"
"""In the place of a name: by that number the data are shared out, `files[rank::n]`, `index % n == rank`."""


class Derived(NamedTuple):
    """What is made of the answers of the look-up, or the request, at a place of the text."""

    place: int
    is_number: bool
    """Their number, or the position of one; otherwise the answers, some of them or a text of them."""
    is_share: bool = False
    """What is left of another number that theirs divides."""
    is_chosen: bool = False
    """One of the answers, or a number that a comparison with them chooses: no count, but maybe a rank."""


Values = frozenset[Derived]
"""What an expression or a variable may hold."""
NOTHING: Values = frozenset()


def names_number(name: str) -> bool:
    """Whether a variable, an argument or an option of that name says a rank, or a number of ranks or shards, or how a program
    trains by that."""
    last = name.lstrip("-").rpartition(".")[2]
    return name == SHARE or bool(_COUNT.search(last)) or is_rank(last) or _is_per_peer(name)


def is_of_any_service(name: str) -> bool:
    """Whether services of other kinds have such numbers too: a database has replicas, and is sent work in shares and batches."""
    found = _COUNT.search(name.lstrip("-").rpartition(".")[2])
    return name == SHARE or bool(found and found["of_any"]) or _is_per_peer(name)


def _is_per_peer(name: str) -> bool:
    return bool(_PER_PEER.search(name.rpartition(".")[2]))


def made_of(number: str) -> str:
    """What a number of that name is made of: of what was found, how many there are, or which one it is."""
    return "order" if is_rank(number) else "count"


def key_before(text: str) -> str:
    """The name, or the option, that a text gives the value that follows it: of `{"world_size": `; empty for none."""
    end = text[-120:]
    found = _KEY.search(end) or _OPTION.search(end)
    return found[1] if found else ""


def numbers_of(values: Values) -> Values:
    """The values, if the answers are counted."""
    return frozenset(one._replace(is_number=True) for one in values)


def shares_of(values: Values) -> Values:
    """What is left of a number that is divided by the values."""
    return frozenset(one._replace(is_share=True) for one in values if one.is_number)


def chosen_by(values: Values) -> Values:
    """A number that is chosen by the values."""
    return frozenset(Derived(one.place, is_number=True, is_chosen=True) for one in values)


def only_shares(values: Values) -> Values:
    """The values that are shares."""
    return frozenset(one for one in values if one.is_share)


def moved(values: Values, by: int) -> Values:
    """The values, of look-ups that stand so much further on."""
    return frozenset(one._replace(place=one.place + by) for one in values)


def answers(values: Iterable[Derived]) -> set[int]:
    """The places of the look-ups of which answers are held."""
    return {one.place for one in values if not one.is_number}


def only_numbers(values: Iterable[Derived], name: str) -> Iterator[int]:
    """The places of the look-ups of which a number is held that the name may mean: what is chosen is a rank, if anything."""
    return (one.place for one in values if one.is_number and (not one.is_chosen or is_rank(name.rpartition(".")[2])))


Files = frozenset[tuple[str, bool]]
"""Files that other programs of the pod write, with whether a number is in them."""


class Found(msgspec.Struct):
    """What a text makes of the answers of its look-ups."""

    numbers: dict[int, str] = {}
    """The names of the numbers, by the places of the look-ups."""
    places: set[int] = set()
    """Where look-ups are started."""
    requests: set[int] = set()
    """Where the cluster is asked."""
    counted: set[int] = set()
    """The look-ups whose answers are counted."""
    listed: set[int] = set()
    """The look-ups whose answers are iterated over, each once."""
    files: dict[str, Values] = {}
    """What is written to files."""
    read: dict[int, str] = {}
    """The files of other programs that are read, by where they are named."""
    commands_left: int = 0
    """Commands that are still looked into; below 0, some were not."""

    def name(self, name: str, values: Values) -> None:
        """Takes note of values that a name is given, if it means a rank or a number of ranks or shards."""
        if name and names_number(name):
            for place in only_numbers(values, name):
                self.numbers.setdefault(place, name.lstrip("-"))

    def take(self, inner: Found, begin: int) -> None:
        """Takes over what was found in a text that begins there."""
        sets = ("places", "requests", "counted", "listed")
        for own, other in ((getattr(self, name), getattr(inner, name)) for name in sets):
            own |= {begin + place for place in other}
        for place, name in inner.numbers.items():
            self.numbers.setdefault(begin + place, name)
        self.read |= {begin + place: path for place, path in inner.read.items()}
        for path, values in inner.files.items():
            self.files[path] = self.files.get(path, NOTHING) | moved(values, begin)
