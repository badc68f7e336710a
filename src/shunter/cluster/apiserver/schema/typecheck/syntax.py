"""Reads an expression into a tree. Source: cel-go 0.26 `parser/gen/CEL.g4`, `parser/parser.go`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.cluster.apiserver.schema.typecheck.macros import MacroFault, expanded
from shunter.cluster.apiserver.schema.typecheck.tree import (
    Call,
    Entry,
    Ident,
    ListOf,
    Literal,
    MapOf,
    Message,
    Node,
    Select,
    qualified,
)

_TOKEN = late_pattern(
    r"""(?P<blank>[\t \r\n\f]+|//[^\n]*)
    |(?P<bytes>[bB][rR]?(?:\"{3}(?s:.*?)\"{3}|'{3}(?s:.*?)'{3}|\"(?:[^\"\\\n\r]|\\.)*\"|'(?:[^'\\\n\r]|\\.)*'))
    |(?P<string>[rR](?:\"{3}(?s:.*?)\"{3}|'{3}(?s:.*?)'{3}|\"[^\"\n\r]*\"|'[^'\n\r]*')
      |\"{3}(?s:(?:\\.|[^\\])*?)\"{3}|'{3}(?s:(?:\\.|[^\\])*?)'{3}|\"(?:[^\"\\\n\r]|\\.)*\"|'(?:[^'\\\n\r]|\\.)*')
    |(?P<double>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<uint>0x[0-9a-fA-F]+[uU]|\d+[uU])
    |(?P<int>0x[0-9a-fA-F]+|\d+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<escaped>`[A-Za-z0-9_./ -]+`)
    |(?P<sign>==|!=|<=|>=|&&|\|\||[\[\]{}().,\-!?:+*/%<>])""",
    re.VERBOSE,
)
_RELATIONS = {"==": "_==_", "!=": "_!=_", "<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "in": "@in"}
_SUMS = {"+": "_+_", "-": "_-_"}
_PRODUCTS = {"*": "_*_", "/": "_/_", "%": "_%_"}
_WORDS = {"true": "bool", "false": "bool", "null": "null"}
_KEYWORDS = frozenset((*_WORDS, "in"))
_RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)
_INT = range(-(2**63), 2**63)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = late_pattern(r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([abfnrtv\"'\\?`]))")
_DEEPEST = 50
"""Levels of brackets. What is deeper is left to the library."""


class UnreadableError(Exception):
    """A text that is no expression, or one that is not read here."""


class SyntaxFaults(Exception):
    """Macros with wrong arguments: where, and what is wrong."""

    def __init__(self, faults: list[tuple[int, str]]) -> None:
        super().__init__(faults)
        self.faults = faults


class Token(NamedTuple):
    """A word, a sign or a literal; `end` is after the last. `at` is where it begins."""

    kind: str
    text: str
    at: int


def parsed(text: str) -> Node:
    """The tree of an expression. Raises SyntaxFaults, and UnreadableError for what is no expression."""
    reader = _Reader(tokens(text))
    node = reader.expression()
    if reader.next.kind != "end":
        raise UnreadableError
    if reader.faults:
        raise SyntaxFaults(reader.faults)
    return node


def tokens(text: str) -> list[Token]:
    """What an expression consists of. Raises UnreadableError."""
    found, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise UnreadableError
        if match.lastgroup != "blank":
            found.append(Token(str(match.lastgroup), match[0], place))
        place = match.end()
    return [*found, Token("end", "", place)]


class _Reader:
    """Recursive descent: a method for each rule of the grammar."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0
        self.faults: list[tuple[int, str]] = []

    @property
    def next(self) -> Token:
        return self._tokens[self._place]

    def _take(self, *texts: str) -> Token | None:
        """The next token if it is one of these signs or words."""
        token = self.next
        if token.kind not in ("sign", "name") or token.text not in texts:
            return None
        self._place += 1
        return token

    def _need(self, text: str) -> Token:
        if token := self._take(text):
            return token
        raise UnreadableError

    def _identifier(self) -> Token:
        token = self.next
        if token.kind != "name" or token.text in _KEYWORDS:
            raise UnreadableError
        self._place += 1
        return token

    def _field(self) -> Token:
        """The name of a field. One in backquotes is told of."""
        token = self.next
        if token.kind != "escaped":
            return self._identifier()
        self.faults.append((token.at, "unsupported syntax: '`'"))
        self._place += 1
        return token

    def expression(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UnreadableError
        chosen = self._logical("||", "_||_", lambda: self._logical("&&", "_&&_", self._relation))
        if sign := self._take("?"):
            first = self._logical("||", "_||_", lambda: self._logical("&&", "_&&_", self._relation))
            self._need(":")
            chosen = Call(sign.at, "_?_:_", [chosen, first, self.expression()])
        self._depth -= 1
        return chosen

    def _logical(self, sign: str, function: str, operand: Callable[[], Node]) -> Node:
        terms, places = [operand()], []
        while token := self._take(sign):
            places.append(token.at)
            terms.append(operand())
        return _balanced(function, terms, places, 0, len(places) - 1) if places else terms[0]

    def _binary(self, functions: dict[str, str], operand: Callable[[], Node]) -> Node:
        left = operand()
        while token := self._take(*functions):
            left = Call(token.at, functions[token.text], [left, operand()])
        return left

    def _relation(self) -> Node:
        return self._binary(_RELATIONS, lambda: self._binary(_SUMS, lambda: self._binary(_PRODUCTS, self._unary)))

    def _unary(self) -> Node:
        for sign, function in (("!", "!_"), ("-", "-_")):
            first = self._take(sign)
            if first is None:
                continue
            count = 1
            while self._take(sign):
                count += 1
            if sign == "-" and self.next.kind in ("int", "double"):
                return self._member(self._number(first))
            operand = self._member(self._primary())
            return operand if count % 2 == 0 else Call(first.at, function, [operand])
        return self._member(self._primary())

    def _number(self, sign: Token | None) -> Node:
        token = self.next
        self._place += 1
        if token.kind == "int":
            value = int(token.text, 16 if token.text.startswith("0x") else 10)
            if (-value if sign else value) not in _INT:
                self.faults.append((sign.at if sign else token.at, "invalid int literal"))
        elif token.kind == "uint" and int(token.text[:-1], 16 if token.text.startswith("0x") else 10) >= 2**64:
            self.faults.append((token.at, "invalid uint literal"))
        return Literal(sign.at if sign else token.at, token.kind, f"{sign.text if sign else ''}{token.text}")

    def _member(self, node: Node) -> Node:
        while True:
            if dot := self._take("."):
                is_optional = self._take("?") is not None
                name = self._field()
                if not is_optional and (bracket := self._take("(")):
                    node = self._call(bracket.at, name.text, node)
                elif is_optional:
                    node = Call(dot.at, "_?._", [node, Literal(name.at, "string", name.text)])
                else:
                    node = Select(dot.at, node, name.text)
            elif bracket := self._take("["):
                function = "_[?_]" if self._take("?") else "_[_]"
                node = Call(bracket.at, function, [node, self.expression()])
                self._need("]")
            elif self.next.text == "{" and self.next.kind == "sign" and (message := qualified(node)):
                node = Message(self._need("{").at, message, self._fields())
            else:
                return node

    def _call(self, at: int, function: str, target: Node | None) -> Node:
        arguments: list[Node] = []
        while not self._take(")"):
            if arguments:
                self._need(",")
            arguments.append(self.expression())
        try:
            return expanded(at, function, target, arguments) or Call(at, function, arguments, target)
        except MacroFault as fault:
            self.faults.append((fault.at, str(fault)))
            return Literal(at, "error")

    def _primary(self) -> Node:
        token = self.next
        if token.kind in ("int", "uint", "double"):
            return self._number(None)
        if token.kind in ("string", "bytes"):
            self._place += 1
            return Literal(token.at, token.kind, _unquoted(token.text.lstrip("bB")))
        if token.kind == "name" and token.text in _WORDS:
            self._place += 1
            return Literal(token.at, _WORDS[token.text])
        if self._take("("):
            node = self.expression()
            self._need(")")
            return node
        if bracket := self._take("["):
            return self._list(bracket.at)
        if bracket := self._take("{"):
            return MapOf(bracket.at, self._entries())
        dot = self._take(".")
        name = self._identifier()
        if name.text in _RESERVED:
            raise UnreadableError
        text = f".{name.text}" if dot else name.text
        if bracket := self._take("("):
            return self._call(bracket.at, text, None)
        return Ident(name.at, text)

    def _list(self, at: int) -> Node:
        items: list[Node] = []
        optional = set()
        for _ in self._until("]"):
            if self._take("?"):
                optional.add(len(items))
            items.append(self.expression())
        return ListOf(at, items, frozenset(optional))

    def _entries(self) -> list[Entry]:
        return [self._entry(self.expression) for _ in self._until("}")]

    def _fields(self) -> list[Entry]:
        return [self._entry(lambda: self._field().text) for _ in self._until("}")]

    def _entry(self, key_of: Callable[[], Node | str]) -> Entry:
        is_optional = self._take("?") is not None
        key = key_of()
        colon = self._need(":")
        return Entry(colon.at, key, self.expression(), is_optional)

    def _until(self, end: str) -> Iterator[None]:
        """Once for each item, up to the end; commas are between them, and may be behind the last."""
        is_first = True
        while not self._take(end):
            if not is_first:
                self._need(",")
                if self._take(end):
                    return
            is_first = False
            yield


def _balanced(function: str, terms: list[Node], places: list[int], low: int, high: int) -> Node:
    """The terms as a tree that is as flat as can be."""
    middle = (low + high + 1) // 2
    left = terms[middle] if middle == low else _balanced(function, terms, places, low, middle - 1)
    right = terms[middle + 1] if middle == high else _balanced(function, terms, places, middle + 1, high)
    return Call(places[middle], function, [left, right])


def _unquoted(text: str) -> str:
    """The value of a string literal."""
    is_raw = text[0] in "rR"
    text = text[1:] if is_raw else text
    width = 3 if text[:3] in ('"""', "'''") else 1
    value = text[width:-width]
    if is_raw or "\\" not in value:
        return value
    if "\\" in _ESCAPE.sub("", value):
        raise UnreadableError
    return _ESCAPE.sub(_escaped, value)


def _escaped(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits:
        return chr(int(digits, 16))
    return chr(int(match[4], 8)) if match[4] else _ESCAPES.get(match[5], match[5])
