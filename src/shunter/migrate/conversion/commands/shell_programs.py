"""What programs that shell texts call print of their pod, and what they do with a value that they are given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands.arguments import Argument, SourceRange, parsed
from shunter.jobs.commands.launcher_options import Syntax, syntax
from shunter.jobs.commands.shell import Command
from shunter.jobs.commands.shell_words import Word
from shunter.jobs.commands.wrappers import is_wrapper, unwrapped
from shunter.migrate.conversion.commands.reads import HOST_NAME, HOSTS_FILE, LOCAL

TESTS = frozenset({"[", "test", "[["})
_EQUALITY = frozenset({"=", "==", "!="})
_AROUND_A_COMPARISON = frozenset({"-a", "-o", "!", "(", ")", "]"})
"""Words of a test between which a comparison stands."""
CUTTERS = frozenset({
    "awk", "cksum", "cut", "egrep", "expr", "fgrep", "gawk", "grep", "head", "mawk", "md5sum", "od", "perl", "python", "python3",
    "rev", "sed", "sha1sum", "sha256sum", "sum", "tail", "tr", "xxd",
})  # fmt: skip
"""Programs that take a value apart, or make a number of it."""
SEARCHERS = frozenset({"awk", "egrep", "expr", "fgrep", "gawk", "grep", "let", "mawk"})
"""Programs to which a value is something to look for, or to count with."""
RESOLVERS = frozenset({"dig", "drill", "getent", "host", "nslookup"})
"""Programs that look up names and addresses."""
RESOLVES = r"(?:getent[ \t]+a?hosts(?:v[46])?|nslookup|dig|drill|host)"
"""How a text calls one of them."""
ASKERS = frozenset({"curl", "kubectl", "oc", "wget"})
"""Programs that may ask the API server of the cluster."""
PRINTERS = frozenset({"echo", "printf"})
TELLERS = frozenset({"curl", "wget", "logger"})
"""Programs that send a text to people or servers: nothing trains by it."""
RUNNERS = frozenset({
    "awk", "bun", "csh", "deno", "elvish", "envsubst", "fish", "gawk", "gojq", "j2", "jinja2", "jq", "julia", "lua", "mawk",
    "node", "nu", "parallel", "perl", "php", "pwsh", "python", "python3", "Rscript", "ruby", "screen", "tclsh", "tcsh", "tmux",
    "yq",
})  # fmt: skip
"""Programs that run a text that is not read here, most of them of another language."""
PYTHONS = frozenset({"python", "python3"})
_CALLERS: dict[str, Syntax] = {
    "eval": Syntax(),
    "parallel": syntax("j jobs a arg-file"),
    "xargs": syntax("I L n P a d E s arg-file delimiter max-args max-lines max-procs max-chars"),
}
"""Programs beside wrappers that call what stands behind their options."""
_DEEPEST = 12
"""Programs that call each other which are followed."""
_ENDS = frozenset({";", "+", ":::"})
"""What ends the words of a command that find or parallel calls."""
_FINDS = late_pattern(r"\s*(?:which|command\s+-v|type\s+-p)\s+hostname\s*")
"""How a shell looks for the program that prints the host name: `$(which hostname)`."""
_LISTS = frozenset({"env", "printenv", "set", "export", "declare", "typeset", "compgen"})
"""Programs that print all variables when they are asked for nothing."""
_ENVIRONMENT_FILE = late_pattern(r"/proc/[^/\s]+/environ\b")
_AT_SEPARATORS = late_pattern(
    r"""cut\s+(?:.*\s)?-d\s*["']?[,:; ]|tr\s+(?:-d\s+)?["']?[,:;]+["']?(?:\s|$)|(?:.*\s)?IFS=\$?["']?[,:; ]"""
    r"|(?:head|tail)\s+-(?:n\s*)?[+-]?\d+(?:\s|$)"
)
"""Commands that cut between the names of a list, or a port from its name, or take whole lines."""
_REVERSE = late_pattern(
    r"\bdig\s[^|;\n]{0,400}-x\b|\bgetent\s+a?hosts\s[^|;\n]{1,400}\|[^|;\n]{0,400}(?:\$2|\$NF|-f\s?2)"
    r"|\b(?:nslookup|host)\s[^|;\n]{0,400}(?:\bhostname\s{1,9}-[iI]\b|\bIP\b|_IP\b|(?:\d{1,3}\.){3}\d)"
)
_SEARCHES = frozenset({"grep", "egrep", "fgrep"})
_SEARCH_OPTIONS = late_pattern(r"-[EFGPiqswx]+|--")
_IF_NOT = late_pattern(r"\bif[ \t]+![ \t]+\Z")
_NEAR = 80
"""Characters before a command in which that stands."""
_UNSHOWN = r"(?P<hidden>[ \t]*(?:[12&]?>[ \t]*/dev/null|2>&1))*[ \t]*"
_OTHERWISE = late_pattern(rf"{_UNSHOWN}\|\|[ \t\\\n]*(?P<opened>\{{\s+)?")
_THEN = late_pattern(rf"{_UNSHOWN}[;\n]\s*then\s+(?P<opened>)")
_ADDS = late_pattern(
    r"[ \t]*(?:>>|\|[ \t]*(?:sudo[ \t]+)?tee[ \t]+(?:-a|--append)[ \t])[ \t]*[\"']?/etc/hosts[\"']?(?=[\s;&|})]|\Z)"
)
_CLOSED = late_pattern(r"(?:[ \t]*>[ \t]*/dev/null)?\s*(?:;\s*)?(?:fi\b|\})")
_DECORATION = late_pattern(r"[\"'{}^]|\\[bs<>]\+?|\[\[:space:\]\][+*]?|\$?[\"']?\Z")
"""What a pattern has beside the name that it looks for, and how a variable may be written in two ways."""
_OF_PODS = late_pattern(
    r"(?:master|chief|launcher|worker|ps|evaluator|node|svc|cluster|local)(?![a-z])|\A[\d.:-]*\Z", re.IGNORECASE
)
"""Parts of names of pods that v1 and v2 do not have in common, and mere numbers."""


def program(word: Word) -> str:
    """The name of the program that the word calls, without its directory."""
    return (word.literal or "").rpartition("/")[2]


def called(command: Command) -> Command:
    """The command that the words call in the end: `sed` of `xargs busybox sed s/x//`. A command to which something is given that
    the shell replaces stays as it is."""
    words = command.words
    for _ in range(_DEEPEST):
        dropped = _words_before_program(words) if words and words[0].literal else 0
        if not 0 < dropped < len(words) or any(word.literal is None for word in words[:dropped]):
            break
        end = next((number for number, word in enumerate(words) if word.literal in _ENDS), len(words))
        words = words[dropped : max(end, dropped + 1)]
    return command._replace(words=words)


def _words_before_program(words: Sequence[Word]) -> int:
    """How many words a program that calls another one has before that; 0 for any other program."""
    name = program(words[0])
    arguments = [Argument(word.literal or "$", SourceRange(start=number)) for number, word in enumerate(words)]
    if name == "find":
        return next((number for number, word in enumerate(words, 1) if (word.literal or "").startswith("-exec")), 0)
    if name in _CALLERS and (name != "eval" or all(word.is_plain for word in words)):
        rest = parsed(arguments[1:], _CALLERS[name]).rest
    elif is_wrapper(name) and not (name == "command" and _has_flag([word.literal or "" for word in words[1:2]], "vV", "")):
        rest = unwrapped(arguments).words
    else:
        return 0
    return rest[0].spot.start if rest else 0


def asks(words: Sequence[Word]) -> str:
    """What a command prints of the pod; empty when it prints none. An IP address (`hostname -i`) is another one in every pod of
    either generation."""
    name, options = program(words[0]), [word.literal or "" for word in words[1:]]
    if words[0].literal is None and any(piece.kind == "command" and _FINDS.fullmatch(piece.value) for piece in words[0].pieces):
        return HOST_NAME
    if name == "hostname":
        asks_address = any(
            option.startswith("-") and not option.startswith("--") and set(option[1:]) & set("iI") for option in options
        )
        sets = any(not option.startswith("-") for option in options)
        return "" if asks_address or sets or {"--ip-address", "--all-ip-addresses"} & {*options} else HOST_NAME
    if name in {"dnsdomainname", "domainname", "nisdomainname"}:
        return "" if any(not option.startswith("-") for option in options) else HOST_NAME
    if name == "hostnamectl":
        return HOST_NAME if not options or options[0] in {"hostname", "status", "--static"} else ""
    if name == "uname":
        return HOST_NAME if _has_flag(options, "na", "--nodename") else ""
    if name == "sysctl":
        return HOST_NAME if "kernel.hostname" in options else ""
    if name == "getent":
        return HOSTS_FILE if options == ["hosts"] or options == ["ahosts"] else ""
    return ""


@lru_cache(maxsize=16)
def names_address(text: str) -> bool:
    """Whether a command asks by which name an address is known: `dig -x`, `nslookup $POD_IP`, `getent hosts ADDRESS` of which the
    name is taken."""
    return bool(_REVERSE.search(text))


def prints_system(words: Sequence[Word]) -> bool:
    """Whether it is `uname -a`, whose output is looked through for other things than a host name."""
    return program(words[0]) == "uname" and _has_flag([word.literal or "" for word in words[1:]], "a", "--all")


def lists_variables(words: Sequence[Word], line: str, lists: set[str]) -> bool:
    """Whether the command, in a line, prints all variables, or reads a file that has them; `lists` are such files."""
    operands = [word for word in words[1:] if not (word.literal or "").startswith("-")]
    is_list = program(words[0]) in _LISTS and not operands
    return is_list or _names_environment(line) or any(path in line for path in lists)


@lru_cache(maxsize=16)
def _names_environment(line: str) -> bool:
    return bool(_ENVIRONMENT_FILE.search(line))


def cuts_names(name: str, written: str) -> bool:
    """Whether the program, called as it is written, takes names apart, and not only what stands between them."""
    return name in CUTTERS and not _AT_SEPARATORS.match(written)


@lru_cache(maxsize=16)
def splits_at_separators(written: str) -> bool:
    """Whether the shell's IFS, set in the text, stands between names."""
    return "IFS=" in written and bool(_AT_SEPARATORS.match(written))


def compared_with_local(words: Sequence[Word]) -> set[int]:
    """The numbers of the words of a test command that it compares with what no pod is called: both operands of each such
    comparison. The other comparisons of the command have none of them."""
    ends = {0, len(words), *(number for number, word in enumerate(words) if word.literal in _AROUND_A_COMPARISON)}
    found: set[int] = set()
    for number, word in enumerate(words):
        operands = {number - 1, number + 1}
        if (
            word.literal in _EQUALITY
            and {number - 2, number + 2} <= ends
            and any(words[one].literal in LOCAL for one in operands)
        ):
            found |= operands
    return found


def adds_once(text: str, command: Command, following: Command) -> bool:
    """Whether the command looks for a name in /etc/hosts, and the following one only adds it there if it is missing:
    `grep -q "$(hostname)" /etc/hosts || echo LINE >> /etc/hosts`. Whatever the search finds, the file has the name behind it, in
    either generation, and nothing else depends on what was found."""
    name = _sought(command)
    if name is None or not following.words or following.assignments or program(following.words[0]) not in PRINTERS:
        return False
    is_if = _IF_NOT.search(text, max(command.start - _NEAR, 0), command.start) is not None
    between = (_THEN if is_if else _OTHERWISE).match(text, command.words[-1].end, following.start)
    if between is None or between.end() != following.start:
        return False
    added = _ADDS.match(text, following.words[-1].end)
    is_quiet = between["hidden"] is not None or any("q" in (word.literal or "") for word in _options(command))
    if added is None or not is_quiet or ((is_if or between["opened"]) and not _CLOSED.match(text, added.end())):
        return False
    pattern = _bare(text, name)
    is_own = name.literal is None or not _OF_PODS.search(pattern)
    return is_own and bool(pattern) and any(pattern in _bare(text, word) for word in following.words[1:])


def _has_flag(options: Sequence[str], letters: str, long: str) -> bool:
    return any(option == long or re.fullmatch(rf"-[a-z]*[{letters}][a-z]*", option) for option in options)


def _sought(command: Command) -> Word | None:
    """What the command looks for in /etc/hosts, and in no other file."""
    if not command.words or program(command.words[0]) not in _SEARCHES or command.assignments or command.inputs:
        return None
    operands = [word for word in command.words[1:] if word not in _options(command)]
    return operands[0] if len(operands) == 2 and operands[1].literal == HOSTS_FILE else None


def _options(command: Command) -> list[Word]:
    return [word for word in command.words[1:] if word.literal and _SEARCH_OPTIONS.fullmatch(word.literal)]


def _bare(text: str, word: Word) -> str:
    return _DECORATION.sub("", text[word.start : word.end]).strip()
