"""The program that was named, the directory that travels with it, and how: mounted, packed, or in the image already."""

from __future__ import annotations

import ast
import os
import posixpath
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.launch.code.delivery import Code, ImageCode, MountedCode
from shunter.launch.code.tree import packed_code, require_mounted, require_program
from shunter.launch.mounts import CODE_PATH
from shunter.launch.options import Program, require_unicode
from shunter.missing_file import missing_file

PYTHON_PATH = "PYTHONPATH"


def program_of(
    path: str, *, module: str = "", arguments: Sequence[str] = (), workdir: str = "", is_in_image: bool = False
) -> tuple[Program, Path]:
    """The program, its path below the directory that travels, and that directory: `workdir`, else the current one if the script
    is below it, else the script's. InputError when there is no such script, or when it is not below `workdir`."""
    here = Path.cwd()
    given = Path(os.path.abspath(os.path.expanduser(workdir))) if workdir else None
    if given is not None and not given.is_dir():
        what = "not a directory" if given.exists() else "no such directory"
        raise InputError(f"--workdir {workdir}: {what}.", "Name the directory that contains the program.")
    if module:
        if "/" in module or "" in module.split("."):
            raise InputError(f"-m {module}: not the name of a module.", "Write it like -m pkg.train, or name a script.")
        if module.endswith(".py") and ((given or here) / module).is_file():
            stem = module.removesuffix(".py")
            raise InputError(f"-m {module}: the name of a module has no .py.", f"Write -m {stem}, or leave -m out.")
        return Program(module=module, arguments=tuple(arguments)), given or here
    if is_in_image:
        return Program(path=path, arguments=tuple(arguments)), given or here
    script = Path(os.path.abspath(path))
    if script.is_dir():
        raise InputError(f"{path} is a directory.", f"Name the script in it, as in {os.path.join(path, 'train.py')}.")
    if script.exists() and not script.is_file():
        raise InputError(f"{path} is not a regular file.", "Give the path of an existing script.")
    if not script.is_file():
        raise missing_file(path, what="file", pattern="*.py", remedy="Give the path of an existing script.")
    root = given or (here if script.is_relative_to(here) else script.parent)
    if root == Path(root.anchor):
        raise InputError(
            f"the directory to send would be {root}, which contains all files of this machine.",
            f"Name the program's directory: --workdir {script.parent}",
        )
    if not script.is_relative_to(root):
        raise InputError(f"{path} is not below --workdir {workdir} ({root}).", "Name a directory that contains the script.")
    try:
        script.open("rb").close()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", "Make it readable (chmod).") from error
    return Program(path=script.relative_to(root).as_posix(), arguments=tuple(arguments)), root


def code_of(
    program: Program, root: Path, *, is_embedded: bool = False, is_in_image: bool = False, is_copied: bool = False
) -> Code:
    """How the program's files get to its pods. On the embedded cluster the directory is mounted, unless a copy is asked for."""
    if is_in_image:
        return ImageCode()
    if is_embedded and not is_copied:
        if program.module:
            files = [str(path.relative_to(root)) for path in module_files(root, program.module)]
            require_program(root, program, files)
        else:
            files = [program.path]
        require_mounted(root, files)
        require_unicode("the directory of the program", str(root))
        return MountedCode(str(root))
    return packed_code(root, program)


def idle_reason(source: bytes) -> str:
    """Why a script ends at once when it is run: it is empty, or defines functions and does nothing else, as snippets of guides
    do, or imports from its own package, which a script has none of, or it is no Python of this version, which may be another than
    that of the pods. Pure; empty for what does something, or may by what it imports."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        line = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) and error.lineno else error
        return f"is not a valid Python {version} program: {line}"
    functions = [one for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    imports = [one for one in body if isinstance(one, ast.Import | ast.ImportFrom)]
    relative = next((one for one in imports if isinstance(one, ast.ImportFrom) and one.level), None)
    if relative is not None and b"__package__" not in source:  # which a script may set itself
        return f"fails at line {relative.lineno}: a script is in no package to import from; run it as a module, with -m"
    rest = [one for one in body if not isinstance(one, ast.ClassDef) and one not in functions and one not in imports]
    if not all(_only_names(one) for one in rest):
        return ""
    if functions:
        return "defines functions and calls none of them, so it ends at once; call one at its end"
    return "" if imports else "contains no statement that does anything, so it ends at once; is it saved?"


def _only_names(statement: ast.stmt) -> bool:
    """Whether it is a docstring, or gives a name to a value that nothing is called for."""
    if not isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign):
        return False
    return not any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(statement))


def dropped_path(root: Path, shell: Mapping[str, str], environment: Iterable[Json]) -> str:
    """The directories of the PYTHONPATH of this shell from which the program may mean to import, as it finds them in its pod:
    those in the directory that is sent. Empty where there are none, and where the job has a PYTHONPATH of its own. Pure but for
    the current directory, in which relative ones are."""
    if any(variable["name"] == PYTHON_PATH for variable in environment):
        return ""
    places = [Path(os.path.abspath(entry)) for entry in shell.get(PYTHON_PATH, "").split(os.pathsep) if entry]
    below = [place.relative_to(root) for place in places if place.is_relative_to(root) and place != root]
    return os.pathsep.join(posixpath.join(CODE_PATH, place.as_posix()) for place in below)


def module_files(root: Path, module: str) -> list[Path]:
    """What is there of a module: its package's first part, and what python -m would run."""
    path = module.replace(".", "/")
    first = path.partition("/")[0]
    named = [root / f"{first}.py", root / f"{path}.py", root / path / "__main__.py"]
    return [file for file in named if file.is_file()] + ([root / first / "__init__.py"] if (root / first).is_dir() else [])
