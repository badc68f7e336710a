"""Where a text of any language names a value that changes: for what no reader here understands.

Perl, awk, JavaScript, Makefiles, templates, and Python that cannot be parsed are searched for the words by which programs ask for
a host name, and for variables by their names. Whether the line decides by the value is guessed from what else stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.commands.reads import HOST_NAME, Read, TextLines, is_rank, sought, takes_last_number

_HOST_NAME = (
    r"\b(?:gethostname|gethostbyaddr|getfqdn|getLocalHost|[Gg]et_processor_name|nodename)\b"
    r"|Sys::Hostname\b|(?<![\w$@%>:.{/\"'-])hostname(?=\s*=~)|\bos(?:'\)|\"\))?\.hostname\b|\bplatform\.node\b|\b(?:php_)?uname\s*\("
    r"|\bos\.Hostname\(|\bhostname::get\b|\bhostname\s*\(\s*\)|\binfo\s+hostname\b|\bGetHostName\b|\bMachineName\b|\bDeno\.hostname\b"
    r"|\bSystem\.hostname\b|\bprocessInfo\.hostName\b|[\"'](?:hostname|uname\s+-n)[\"']\s*\|\s*getline|\bsh:\s*[\"']?(?:hostname|uname\s+-n)\b"
    r"|(?:\$\((?:shell\s+)?|`)(?:hostname|uname\s+-n)(?:\b(?!\s*[,=:.])|$)"
    # A substitution of fish; of other languages a parameter, or a condition.
    r"|(?<![\w$.)\]])(?<!\bif )(?<!\bwhile )(?<!\bswitch )(?<!\bfunction )(?<!\bcatch )(?<!\bprint )"
    r"\((?:hostname|uname\s+-n)(?=\s*\)(?!\s*=>)|\s+-\w|\s*\|(?!\|))"
    # A command that another language starts: io.popen('hostname'), execSync("uname -n"), qx(hostname).
    r"|(?:popen|system2?|exec\w{0,20}|spawn\w{0,20}|\brun|\bcapture)\s?[({]\s?\[?[\"'](?:hostname|uname\s+-n)(?=[\"' |])"
    r"|(?:\bqx|%x)\s?[({\[/|!]\s?(?:hostname|uname\s+-n)\b"
    r"|/etc/hostname\b|/proc/sys/kernel/host[\w*?]+"
)
_CUT_WORDS = late_pattern(
    r"[sS]plit|explode|\$\((?:pat)?subst\b|partition\(|substr|\bre\.|\[-?\d|\bint\(|[=!]=|=~|\bin\b|endsWith|startsWith|endswith|startswith|match|test\("
    r"|\bg?sub\(|\bstr_\w+\(|\bregmatches\(|%d\+|\$NF|\\d|\[0-9\]|\[\[:digit:\]\]|\bsed\b|\bcut\b|\btr\b|hash|crc"
    r"|##|%%|\$\{\w+[:#%/]|slice\(|pop\(|capture"
)
_ENVIRONMENT = late_pattern(r"\bENVIRON\b|%ENV\b|\bENV\.\w|\bprocess\.env\b|\benviron\b")
"""What holds all variables."""
_GIVEN = late_pattern(
    r"([A-Za-z_][\w-]*)[\"'\])]*\s*(?:[:?]?=|:|,)\s*[\"'(\[]*(?:\w+\()*(?:process\.env[.\[]|ENV\[|os\.)?[\"'${(]*\Z"
)
"""A name, up to the value that it is given: `const shard = Number(process.env.`, `'--rank', `."""
_HELD = late_pattern(
    r"(?:^|[;({\s])(?:set\s+(?P<tcl>[A-Za-z_]\w*)\s|[$@]?(?P<name>[A-Za-z_]\w*)(?:\s*,\s*\w+)*\)?\s*(?::?=|<-))(?!=)[^=]*\Z"
)
_WORD = late_pattern(r"[A-Za-z_]\w*")
_COMMENTS = ("#", "//", ";")
_NEAR = 100
"""Characters before a value in which it is named."""
_SETTING = late_pattern(r"[\"']?([A-Za-z_][\w.-]*)[\"']?\s*[:=]\s*[\"']?[^\"'\s]*$")


def mentions(text: str, variables: Mapping[str, str]) -> Iterator[Read]:
    """Every place of a program that names one. `variables` are those that hold such a value, with what each is called."""
    lines = TextLines(text)
    for match in re.finditer(rf"{_HOST_NAME}|(?<![\w$-])\$?\{{?(?P<variable>{_names(variables)})\b(?!\s*:?=(?!=))", text):
        line = lines.around(match.start(), match.start())
        if not _is_comment(line):
            given = _GIVEN.search(line_before(text, match.start())[-_NEAR:])
            cutting = line if _cuts(line) else _cutting_line(text, match.start())
            decides = bool(cutting) or (given is not None and is_rank(given[1]))
            yield Read(_called(match, variables), match.start(), decides, decides and takes_last_number(cutting or line))
    if environment := _ENVIRONMENT.search(text):
        decides = _cuts(text)
        for name in sought(variables, text):
            if name not in text:  # looked for by the beginning of its name
                yield Read(variables[name], environment.start(), decides, decides and takes_last_number(text))


def _cutting_line(text: str, start: int) -> str:
    """The first line that takes apart the variable which is given what stands there, in any language: `my $h = `, `h, _ := `,
    `set h [`. Empty when there is none."""
    held = _HELD.search(line_before(text, start)[-_NEAR:])
    return _cutting_lines(text).get(held["tcl"] or held["name"], "") if held else ""


@lru_cache(maxsize=16)
def _cutting_lines(text: str) -> Mapping[str, str]:
    """By each word of a line that takes something apart, the first such line."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not _is_comment(line) and _cuts(line):
            for word in _WORD.findall(line):
                found.setdefault(word, line)
    return found


def insertions(text: str, variables: Mapping[str, str]) -> Iterator[Read]:
    """Every place of a file of settings that has one put in: `${HOSTNAME}`, `${oc.env:HOSTNAME}`, `{{ env "HOSTNAME" }}`, and
    what supervisord calls it, `%(host_node_name)s`. Under a
    key that says a rank it decides."""
    names = rf"\b(?:ENV_)?(?P<variable>{_names(variables)})\b|\bhost_node_name\b"
    inserted = rf"(?:[$%][({{]|\{{\{{|!ENV|\benv[:/])[^\n}})]{{0,24}}?(?:{names})"
    named = r"(?<=[:=])[ \t]*[\"']?(?P<named>HOSTNAME)[\"']?[ \t]*(?=[,}\]\n]|\Z)"
    for match in re.finditer(rf"{inserted}|{named}", text):
        key = _SETTING.search(line_before(text, match.start()))
        yield Read(_called(match, variables), match.start(), key is not None and is_rank(key[1]))


@lru_cache(maxsize=16)
def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(_COMMENTS)


@lru_cache(maxsize=16)
def _cuts(line: str) -> bool:
    return bool(_CUT_WORDS.search(line))


def line_before(text: str, place: int) -> str:
    """What stands before the place in its line."""
    return text[text.rfind("\n", 0, place) + 1 : place]


def _names(variables: Mapping[str, str]) -> str:
    return "|".join(map(re.escape, variables)) or "(?!)"


def _called(match: re.Match[str], variables: Mapping[str, str]) -> str:
    return variables[match["variable"]] if match["variable"] else HOST_NAME
