"""The programs that start training processes, recognized by their command lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands import launcher_options
from shunter.jobs.commands.arguments import Argument, Option, parsed
from shunter.jobs.commands.launcher_options import FORMS, MODULES, PROGRAMS, program_name

Launcher = launcher_options.Launcher | Literal["python", "unknown"]
"""`unknown` is anything that is none of the others, such as a program of the image's own."""
ProgramKind = Literal["script", "module", "code", "input", ""]

_PYTHON = late_pattern(r"(i?python|pypy)[0-9.]*")
_PREPARING_MODULES = frozenset({"pip", "venv", "ensurepip", "compileall", "http.server", "zipfile", "tarfile", "nltk.downloader"})
_PREPARING = frozenset({
    ".", ":", "[", "alias", "apk", "apt", "apt-get", "awk", "aws", "az", "base64", "basename", "break", "bunzip2", "bzip2",
    "cat", "cd", "chgrp", "chmod", "chown", "cksum", "cmp", "comm", "continue", "cp", "curl", "cut", "date", "declare", "df",
    "diff", "dig", "dirname", "dnf", "dnsdomainname", "dos2unix", "dpkg", "du", "echo", "envsubst", "exit", "export", "expr",
    "false", "file", "find", "fold", "free", "gcloud", "getconf", "getent", "git", "gpg", "grep", "groupadd", "gsutil",
    "gunzip", "gzip", "head", "hf", "host", "hostname", "huggingface-cli", "id", "ifconfig", "install", "ip", "join", "jq",
    "kill", "ldconfig", "less", "let", "ln", "local", "ls", "lscpu", "lsof", "md5sum", "mkdir", "mkfifo", "mktemp", "mount",
    "mv", "nc", "netstat", "nproc", "nslookup", "nvcc", "nvidia-smi", "openssl", "paste", "patch", "ping", "pip", "pip3",
    "pkill", "popd", "printenv", "printf", "ps", "pushd", "pwd", "read", "readlink", "readonly", "realpath", "return", "rev",
    "rm", "rmdir", "rsync", "s3cmd", "scp", "sed", "seq", "service", "set", "sha1sum", "sha256sum", "shift", "shopt", "sleep",
    "sort", "split", "ss", "ssh-keygen", "ssh-keyscan", "stat", "sync", "sysctl", "tac", "tail", "tar", "tee", "telnet", "test",
    "top", "touch", "tr", "trap", "true", "type", "ulimit", "umask", "umount", "unalias", "uname", "uniq", "unset", "unzip",
    "uptime", "useradd", "vmstat", "wait", "wc", "wget", "which", "whoami", "xargs", "xxd", "xz", "yes", "yq", "yum", "zcat",
    "zip", "zstd",
})  # fmt: skip
"""Commands that do not train."""


class Started(NamedTuple):
    """A program that a container starts, and that may be what trains."""

    launcher: Launcher
    head: tuple[Argument, ...]
    """The words that name the launcher: `torchrun`, or `python -m torch.distributed.run`; of plain python the interpreter with
    its options, `-m` and `-c` too."""
    options: dict[str, Option]
    """The launcher's own."""
    kind: ProgramKind
    program: tuple[Argument, ...]
    """The script, module or code with its arguments; of an unknown program all words."""
    through: tuple[str, ...] = ()
    """What leads to it: `bash -c`, `ConfigMap scripts: run.sh`, `the image's ENTRYPOINT`."""
    given: tuple[tuple[str, Option], ...] = ()
    """The options in the order of the words, those that are given several times as well."""

    @property
    def name(self) -> str:
        """The script, module or program; empty for code, and for what is not known."""
        return self.program[0].value if self.program and self.kind != "code" else ""

    @property
    def text(self) -> str:
        """`torchrun train.py`, for messages."""
        head = " ".join(word.value for word in self.head)
        name = {"code": "...", "input": "-"}.get(self.kind, self.name)
        return f"{head} {name}".strip()

    def number(self, name: str) -> int | None:
        """The value of an option that is a whole number; None for another, and where it is not given."""
        value = self.option(name) or ""
        return int(value) if value.isdecimal() else None

    def written(self, name: str) -> str:
        """The option as it was written, such as `--nnodes 2`; empty where it is not given."""
        found = self.options.get(name)
        return " ".join(word.value for word in found.words) if found else ""

    def option(self, name: str) -> str | None:
        """Its value, empty for a flag; None where it is not given. The name is the full one, without dashes."""
        found = self.options.get(name)
        return found.value if found else None


def started(words: Sequence[Argument]) -> Started | None:
    """What these words start, wrappers taken off; None for a command that prepares."""
    name = program_name(words[0].value)
    if name in _PREPARING:
        return None
    if is_python(name):
        return _python(tuple(words))
    if name == "accelerate":
        return _launched("accelerate", tuple(words[:2]), words[2:]) if [word.value for word in words[1:2]] == ["launch"] else None
    launcher = PROGRAMS.get(name)
    if launcher:
        return _launched(launcher, tuple(words[:1]), words[1:])
    if name.endswith(".py"):
        return Started("python", (), {}, "script", tuple(words))
    return Started("unknown", (), {}, "", tuple(words))


def is_python(name: str) -> bool:
    """Whether a program of that name is a Python."""
    return _PYTHON.fullmatch(name) is not None


def starts_programs(word: str) -> bool:
    """Whether the word names an interpreter or launcher."""
    name = program_name(word)
    return name in PROGRAMS or name == "accelerate" or is_python(name)


def _python(words: tuple[Argument, ...]) -> Started | None:
    """`python [OPTIONS] script | -m module | -c code | -`. Python takes `-m` and `-c` as the last letters of joined flags as well
    (`-um`)."""
    place = 1
    while place < len(words):
        value = words[place].value
        if not value.startswith("-") or value == "-":
            break
        is_long, last = value.startswith("--"), value[-1]
        if not is_long and last in "mc":
            return _python_module_or_code(words, place, "module" if last == "m" else "code")
        place += 2 if not is_long and last in "WX" and len(value) == 2 else 1
    if place == len(words) or words[place].value == "-":
        return Started("python", words[:place], {}, "input", words[place:])
    name = program_name(words[place].value)
    if name == "setup.py":
        return None
    if name in PROGRAMS or name == "accelerate":  # `python $(which torchrun)`
        launched = started(words[place:])
        return launched and launched._replace(head=(*words[:place], *launched.head))
    return Started("python", words[:place], {}, "script", words[place:])


def _python_module_or_code(words: tuple[Argument, ...], place: int, kind: Literal["module", "code"]) -> Started | None:
    program = words[place + 1 :]
    if kind == "code":
        return Started("python", words[: place + 1], {}, "code", program)
    module = program[0].value if program else ""
    if module in _PREPARING_MODULES:
        return None
    launcher = MODULES.get(module)
    if launcher:
        return _launched(launcher, words[: place + 2], program[1:])
    return Started("python", words[: place + 1], {}, "module", program)


def _launched(launcher: launcher_options.Launcher, head: tuple[Argument, ...], words: Sequence[Argument]) -> Started:
    options, program, given = parsed(words, FORMS[launcher])
    kind: ProgramKind = "module" if "module" in options else "script"
    return Started(launcher, head, options, kind, program, given=given)
