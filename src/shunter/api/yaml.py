"""YAML as Kubernetes reads and writes it: the only dialect in this project.

kubectl and the API server read YAML with goyaml.v2 (through sigs.k8s.io/yaml), which is neither YAML 1.1 nor 1.2: `y` and `n` are
booleans, `1e3` and `1000.0` are the integer 1000, `0o17` and `017` are 15, `1_000` is 1000; `12:30`, `=` and dates are text. Held
to kubectl by tests/api/test_yaml.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import yaml

Text = str | bytes
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_TEXT = f"{_TAG}str"
_MAP = f"{_TAG}map"
_SEQ = f"{_TAG}seq"
_LONGEST_WORD = 40
"""Characters of a plain scalar whose tag is remembered; a longer one is hardly met again, and may be a Secret's."""
_PLAIN_COLLECTIONS: dict[str, type[yaml.Node]] = {_MAP: yaml.MappingNode, _SEQ: yaml.SequenceNode}


def load_yaml(text: Text) -> Any:
    """The value of a text of one document; None for an empty one. Raises yaml.YAMLError, also for a key that stands twice."""
    return yaml.load(text, Loader)


def load_all_yaml(text: Text) -> Iterator[Any]:
    """The values of all documents. Raises yaml.YAMLError as `load_yaml` does."""
    return iter(yaml.load_all(text, Loader))


def dump_yaml(value: Any, *, sort_keys: bool = False, width: int = 130) -> str:
    """A value in block style without anchors; text that any YAML reader would take for something else is quoted."""
    return _dump(value, Dumper, sort_keys=sort_keys, width=width)


def readable_yaml(value: Any) -> str:
    """The value as YAML for people: strings of several lines are written as blocks."""
    return _dump(value, _BlockDumper, sort_keys=False, width=130)


def _dump(value: Any, dumper: type[Dumper], *, sort_keys: bool, width: int) -> str:
    text: str = yaml.dump(value, Dumper=dumper, sort_keys=sort_keys, default_flow_style=False, allow_unicode=True, width=width)
    return text


class LenientLoader(yaml.CSafeLoader):
    """Keeps the last of equal keys, as kubectl and the API server do. What is wrong is a YAMLError in every case.

    Keys that are numbers become text; keys that are booleans stay booleans.
    """

    def __init__(self, stream: Text) -> None:
        super().__init__(stream)
        self._unfilled: list[tuple[yaml.Node, Any]] = []
        """Collections that are made and not filled yet, level by level, as PyYAML fills them: an alias may stand within what it
        stands for."""
        self._merging: set[yaml.Node] = set()
        """Mappings whose merge keys are being replaced, from the outermost on."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """The tag of a node that has none."""
        if kind is yaml.ScalarNode:
            if not implicit[0]:
                return _TEXT
            return _tag_of_word(value) if len(value) <= _LONGEST_WORD else _plain_tag(value)
        return _MAP if kind is yaml.MappingNode else _SEQ

    def construct_document(self, node: yaml.Node) -> Any:
        """The value of a whole document."""
        value = self.construct_object(node)
        while self._unfilled or self.state_generators:
            unfilled, self._unfilled = self._unfilled, []
            generators, self.state_generators = self.state_generators, []
            for collection, made in unfilled:
                if isinstance(collection, yaml.MappingNode):
                    made.update(self.construct_mapping(collection))
                else:
                    made.extend([self.construct_object(item) for item in collection.value])
            for generator in generators:  # of collections of other kinds
                for _ in generator:
                    pass
        self.constructed_objects = {}
        self.recursive_objects = {}
        return value

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node. Nearly all are text, mappings and lists, which need little of PyYAML's bookkeeping."""
        tag = node.tag
        if tag == _TEXT and type(node) is yaml.ScalarNode:
            return node.value
        if deep or self.deep_construct or _PLAIN_COLLECTIONS.get(tag) is not type(node):
            return super().construct_object(node, deep=deep)
        if node in self.constructed_objects:
            return self.constructed_objects[node]
        made: Any = {} if tag == _MAP else []
        self.constructed_objects[node] = made
        self._unfilled.append((node, made))
        return made

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """The mapping with numbers among its keys as text, `1: a` like `"1": a`; booleans stay."""
        if type(node) is yaml.MappingNode:
            self.flatten_mapping(node)
            if all(key.tag == _TEXT and type(key) is yaml.ScalarNode for key, _ in node.value):
                return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}
        mapping = super().construct_mapping(node, deep=deep)
        if all(type(key) is str for key in mapping):
            return mapping
        return {_key_text(key): value for key, value in mapping.items()}

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Puts what a merge key (`<<`) names in its place, so that it overrides the keys before it, as in Kubernetes and unlike
        YAML 1.1, where the mapping's own keys always win."""
        if _MERGE not in [key.tag for key, _ in node.value]:
            return
        if node in self._merging:
            raise yaml.constructor.ConstructorError(None, None, "<< names the mapping that it stands in", node.start_mark)
        self._merging.add(node)
        entries: list[tuple[yaml.Node, yaml.Node]] = []
        for key, value in node.value:
            if key.tag == _MERGE:
                entries += self._merged(value)
            else:
                entries.append((key, value))
        node.value = entries
        self._merging.remove(node)

    def _merged(self, node: yaml.Node) -> Iterator[tuple[yaml.Node, yaml.Node]]:
        match node:
            case yaml.MappingNode():
                self.flatten_mapping(node)
                yield from node.value
            case yaml.SequenceNode():
                for part in reversed(node.value):  # the first of several overrides the others
                    yield from self._merged(part)
            case _:
                raise yaml.constructor.ConstructorError(None, None, "<< names no mapping", node.start_mark)


class Loader(LenientLoader):
    """Refuses keys that stand twice: both were meant, and readers disagree about which one counts."""

    def __init__(self, stream: Text) -> None:
        super().__init__(stream)
        self._flattened: dict[int, yaml.MappingNode] = {}
        """Holds the nodes, so that no other node gets the identity of one of them."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Looks for duplicates before merge keys are resolved: that happens to a mapping that is merged before it is constructed
        itself, and then its own keys stand beside those that it overrides."""
        if self._flattened.get(id(node)) is not node:
            self._flattened[id(node)] = node
            _refuse_duplicates(node)
        super().flatten_mapping(node)


class Dumper(yaml.CSafeDumper):
    """Quotes text that this dialect, or YAML 1.1, reads as something else."""

    def ignore_aliases(self, data: Any) -> bool:
        """True for everything: a value that stands twice is written twice, without an anchor."""
        return True


class _BlockDumper(Dumper):
    pass


def _represent_text(dumper: yaml.CSafeDumper, value: str) -> yaml.ScalarNode:
    is_block = "\n" in value and value.strip() and not value.endswith("\n\n")  # blank lines at the end are closed by "..."
    return dumper.represent_scalar(f"{_TAG}str", value, style="|" if is_block else None)


_BlockDumper.add_representer(str, _represent_text)


def _refuse_duplicates(node: yaml.MappingNode) -> None:
    texts = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
    if len({*texts}) == len(texts):
        return
    keys: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value in keys and key.value != "<<":
            raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} is duplicated in one object", key.start_mark)
        keys.add(key.value if isinstance(key, yaml.ScalarNode) else "")


# What a plain scalar means. Source: goyaml.v2 resolve.go, and kubectl 1.36 asked for each case of the tests.

_FALSE = frozenset(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"))
_TRUE = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_UNGROUPED = re.compile(r"(?<![0-9])_|_(?![0-9])")
"""An underscore that is not between digits, which Go refuses in a number that begins with a point, and only there."""
_OCTAL = re.compile(r"([-+]?)0[oO]?([0-7]+)", re.ASCII)


def _number(text: str) -> int | float | None:
    """The number that Kubernetes reads in a plain scalar; None when it is text. Integers beyond 64 bits are floats."""
    digits = text.replace("_", "")
    if text[:1] == "_" or (text[:1] == "." and _UNGROUPED.search(text)):
        return None
    if _INTEGER.fullmatch(digits) and digits[-1] not in "oOxXbB":
        octal = _OCTAL.fullmatch(digits)
        whole = int(f"{octal[1]}0o{octal[2]}" if octal else digits, 0)
        if -(2**63) <= whole < 2**64:
            return whole if whole < 2**63 else float(whole)
    if not _FLOAT.fullmatch(digits):
        return None
    value = float(digits)
    return _json_number(value) if abs(value) != float("inf") else None


def _json_number(value: float) -> int | float:
    """The number as Kubernetes' clients send it (Go's encoding/json): 3.0 and 3e0 as 3, where that fits into 64 bits."""
    return int(value) if value.is_integer() and -(2**63) <= value < 2**63 else value


def _key_text(key: Any) -> Any:
    """A number as the key of a JSON object, 16, 1.5, 1000; other keys as they are."""
    if type(key) not in (int, float):
        return key
    return str(int(key)) if key == key // 1 else repr(key)


class _Pattern:
    """What PyYAML asks of a resolver's regular expression: whether it matches."""

    def __init__(self, matches: Callable[[str], bool]) -> None:
        self.match = matches


def _resolvers() -> dict[str, list[tuple[str, Any]]]:
    """By the first character of a plain scalar: tags, and whether the text is of that kind."""
    booleans = (f"{_TAG}bool", re.compile(rf"(?:{'|'.join(sorted(_TRUE | _FALSE))})\Z"))
    numbers = [
        (f"{_TAG}int", _Pattern(lambda text: isinstance(_number(text), int))),
        (f"{_TAG}float", _Pattern(lambda text: isinstance(_number(text), float))),
    ]
    unending = (f"{_TAG}float", re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"))
    null = (f"{_TAG}null", re.compile(r"(?:~|null|Null|NULL|)\Z"))
    return {
        **{first: [booleans] for first in "yYtToOfF"},
        **{first: [booleans, null] for first in "nN"},
        **dict.fromkeys("0123456789", numbers),
        **{first: [*numbers, unending] for first in "-+."},
        "~": [null],
        "": [null],
        "<": [(_MERGE, re.compile(r"<<\Z"))],
    }


def _plain_tag(text: str) -> str:
    """The tag of a plain scalar."""
    return next((tag for tag, pattern in _RESOLVERS.get(text[:1], ()) if pattern.match(text)), _TEXT)


@lru_cache(maxsize=4096)
def _tag_of_word(text: str) -> str:
    """The same: the words of manifests are the same ones over and over."""
    return _plain_tag(text)


def _with_place(kind: str, construct: Callable[[str], Any]) -> Callable[[yaml.SafeLoader, yaml.Node], Any]:
    """The constructor of a kind of scalars; a text that is none of them is a ConstructorError with its place."""

    def constructed(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        try:
            return construct(loader.construct_scalar(node))  # type: ignore[arg-type]
        except (LookupError, ValueError) as error:
            raise yaml.constructor.ConstructorError(None, None, f"{node.value!r} is no {kind}", node.start_mark) from error

    return constructed


def _constructed_boolean(text: str) -> bool:
    if text not in _TRUE | _FALSE:
        raise ValueError(text)
    return text in _TRUE


def _constructed_integer(text: str) -> int | float:
    number = _number(text)
    if number is None:
        raise ValueError(text)
    return number


def _constructed_float(text: str) -> int | float:
    number = _number(text)
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan")) if number is None else number


_RESOLVERS = _resolvers()
LenientLoader.yaml_implicit_resolvers = _RESOLVERS
Dumper.yaml_implicit_resolvers = {
    first: [*LenientLoader.yaml_implicit_resolvers.get(first, []), *yaml.CSafeDumper.yaml_implicit_resolvers.get(first, [])]
    for first in {*LenientLoader.yaml_implicit_resolvers, *yaml.CSafeDumper.yaml_implicit_resolvers}
}
for _kind, _construct in (("bool", _constructed_boolean), ("int", _constructed_integer), ("float", _constructed_float)):
    LenientLoader.add_constructor(f"{_TAG}{_kind}", _with_place(_kind, _construct))
for _kind in ("timestamp", "merge"):
    LenientLoader.add_constructor(f"{_TAG}{_kind}", _with_place(_kind, str))
