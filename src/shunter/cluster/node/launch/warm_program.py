"""A forked copy of a warm parent becomes the program of a container, as if its interpreter had been executed with it.

What an interpreter makes of its command line and environment is made again here; docs/warm-start.md lists what stays
different. `begin` runs inside the container, below the supervisor's frames; `prepare` after these are gone; the program itself
when no frame is left: the interpreter calls it where it would run a module (`python -m`).
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import io
import os
import random
import runpy
import signal
import sys
from collections.abc import Callable, Collection, Iterable
from importlib.machinery import BuiltinImporter
from typing import Any

from shunter.cluster.node.launch import linux, warm_shell
from shunter.cluster.node.launch.executable import execute
from shunter.cluster.node.launch.forking import close_descriptors

_SUFFIXES = ("py", "pyc", "so")
_METADATA = (".dist-info", ".egg-info")


class Program(BaseException):
    """Raised in the process that is to run it, so that no frame of ours lies below the program's. `spec` is the container's."""

    def __init__(self, spec: dict[str, Any], environment: dict[str, str]) -> None:
        super().__init__()
        self.spec = spec
        self.environment = environment


def begin(
    spec: dict[str, Any], environment: dict[str, str], report_cold_start: Callable[[str], None], imported: Collection[str]
) -> str:
    """Raises Program if the program can run in a process that has imported these modules; otherwise reports why not and executes
    the interpreter. Returns a message only if that fails."""
    reason = obstacle(spec["warm"], imported)
    if not reason:
        try:
            if spec["level"] == "namespaces":
                linux.take_capabilities_of_root()
            linux.set_command_line(spec["argv"], environment)
        except OSError as error:
            reason = f"the kernel refuses what it takes ({error.filename}: {error.strerror})"
    if not reason:
        raise Program(spec, environment)
    report_cold_start(reason)
    return execute(spec["argv"], environment)


def obstacle(program: dict[str, Any], imported: Collection[str]) -> str:
    """Why a program must start cold, by what is visible only in its container; empty if it can start warm."""
    if program["kind"] == "code" and sys.version_info >= (3, 13):
        return "Python 3.13 and later show lines of code that is given by -c, and those of the warm parent would be shown"
    path = os.path.join(program["directory"], program["what"])
    if program["kind"] == "file" and not (os.path.isfile(path) and os.access(path, os.R_OK)):
        return f"{path} is no file that can be read"
    directory = _search_directory(program)
    for entry in sorted(os.listdir(directory)) if directory else ():
        if entry.endswith(_METADATA) and _offers_backends(os.path.join(directory, entry)):
            return f"{directory} has {entry}, and the warm parent has looked for backends of torch elsewhere"
        name, _, rest = entry.partition(".")
        if name not in imported or name in sys.builtin_module_names:
            continue
        is_package = not rest and os.path.exists(os.path.join(directory, entry, "__init__.py"))
        if is_package or rest.rpartition(".")[2] in _SUFFIXES:
            return f"{directory} has {entry}, and the warm parent has imported another module of that name"
    return ""


def _offers_backends(metadata: str) -> bool:
    """Whether a package's metadata names backends of torch.distributed."""
    try:
        with open(os.path.join(metadata, "entry_points.txt"), "rb") as file:
            return b"torch.distributed.backends" in file.read()
    except OSError:
        return False


def prepare(program: Program, own: dict[str, str], modules: Iterable[str]) -> None:
    """Has the interpreter run the program next. `own` are variables that the interpreter and its imports set themselves,
    `modules` are ours."""
    words, argv, environment = program.spec["warm"], program.spec["argv"], program.environment
    close_descriptors()
    if shell := words.get("shell"):
        argv, environment = shell["argv"], warm_shell.start(shell, environment, words["directory"])
        linux.set_command_line(argv, environment)
    else:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    linux.set_process_name(os.path.basename(words["interpreter"]))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update({**own, **environment})
    is_unbuffered = words["unbuffered"] or bool(environment.get("PYTHONUNBUFFERED"))
    _open_streams(is_unbuffered=is_unbuffered)
    if threading := sys.modules.get("threading"):
        threading.main_thread()._set_native_id()  # a fork keeps that of its parent
    _draw_anew()
    sys.orig_argv[:] = argv
    first = {"code": "-c", "module": "-m", "file": words["what"]}[words["kind"]]
    sys.argv[:] = [first, *words["arguments"]]
    places = list(sys.path)
    if directory := _search_directory(words):
        # What `-c` runs finds modules where the working directory is at that time.
        places.insert(0, "" if words["kind"] == "code" else directory)
    main = vars(sys.modules["__main__"])
    main.clear()
    main |= {
        "__name__": "__main__", "__doc__": None, "__package__": None, "__loader__": BuiltinImporter, "__spec__": None,
        "__builtins__": builtins,
    }  # fmt: skip
    if sys.version_info < (3, 14):
        main["__annotations__"] = {}
    for name in modules:
        del sys.modules[name]
    run_module = vars(runpy)["_run_module_as_main"]  # what `python -m` calls

    class LastStep:
        """The last argument, NULL, of the C call that starts the program. Converting it is the last that Python does before."""

        @staticmethod
        def from_param(_: object) -> None:
            vars(runpy)["_run_module_as_main"] = run_module
            sys.path[:] = places

    vars(runpy)["_run_module_as_main"] = _CALLS[words["kind"]](words["what"], LastStep)


def _search_directory(program: dict[str, Any]) -> str:
    """Where the interpreter looks for modules before all other places; empty when that is switched off."""
    if getattr(sys.flags, "safe_path", False):  # since Python 3.11
        return ""
    directory = program["directory"] or os.getcwd()
    if program["kind"] == "file":
        return os.path.dirname(os.path.realpath(os.path.join(directory, program["what"])))
    return os.path.realpath(directory)


def _call(name: str, types: list[Any], *arguments: Any, returns: Any) -> Callable[..., Any]:
    """A call of a function of C. What the interpreter adds to the arguments, the module's name and a flag, C does not look at."""
    function = ctypes.pythonapi[name]
    function.argtypes, function.restype = types, returns
    return functools.partial(function, *arguments, None)


def _code(code: str, last_step: Any) -> Callable[..., Any]:
    return _call("PyRun_SimpleStringFlags", [ctypes.c_char_p, last_step], code.encode(), returns=_ended)


def _file(path: str, last_step: Any) -> Callable[..., Any]:
    """By the function that the interpreter itself calls, so that tracebacks and exit codes are its own."""
    opened = ctypes.CDLL(None).fopen
    opened.restype = ctypes.c_void_p
    absolute = os.fsencode(path if os.path.isabs(path) else os.path.join(os.getcwd(), path))
    types = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, last_step]
    return _call("PyRun_SimpleFileExFlags", types, opened(absolute, b"rb"), absolute, 1, returns=_ended)


def _module(name: str, last_step: Any) -> Callable[..., Any]:
    run_module = vars(runpy)["_run_module_as_main"]
    types = [ctypes.py_object, ctypes.py_object, last_step]
    return _call("PyObject_Call", types, run_module, (name, True), returns=ctypes.py_object)


_CALLS: dict[str, Callable[[str, Any], Callable[..., Any]]] = {"code": _code, "file": _file, "module": _module}


def _ended(result: int) -> None:
    """What follows code that C has run. After an interrupt the interpreter ends by itself as one that was interrupted."""
    if result and not issubclass(sys.last_type or Exception, KeyboardInterrupt):
        sys.exit(1)


def _open_streams(*, is_unbuffered: bool) -> None:
    """sys.stdin, sys.stdout and sys.stderr as `create_stdio` of CPython's pylifecycle.c makes them for what is no terminal."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        before = getattr(sys, f"__{name}__")
        is_raw = is_unbuffered and mode == "w"
        binary: Any = io.open(number, f"{mode}b", 0 if is_raw else -1, closefd=False)  # noqa: SIM115, UP020 -- they stay open
        (binary if is_raw else binary.raw).name = f"<{name}>"
        text: Any = io.TextIOWrapper(
            binary, before.encoding, before.errors, "\n", line_buffering=number == 2 and not is_raw, write_through=is_raw
        )
        text.mode = mode
        setattr(sys, f"__{name}__", text)
        setattr(sys, name, text)


def _draw_anew() -> None:
    """What modules drew from the system's randomness when they were imported is not shared with other copies."""
    random.seed()
    if numpy := sys.modules.get("numpy.random"):
        numpy.seed()
    if torch := sys.modules.get("torch"):
        torch.default_generator.seed()  # as on import; torch.seed() would give CUDA's another seed than it has there
    if processes := sys.modules.get("multiprocessing.process"):
        processes.current_process().authkey = os.urandom(32)
