"""What a warm parent runs: Python imports a module of this name while it starts, before it runs a program.

So a fork returns from here into the interpreter's own C code, which then runs a program with no frame of ours below it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import site
import sys
import traceback


def _serve() -> None:
    here = os.path.dirname(__file__)
    sys.path.remove(here)
    sys.path_importer_cache.pop(here, None)
    if rest := os.environ["PYTHONPATH"].removeprefix(here).removeprefix(":"):
        os.environ["PYTHONPATH"] = rest
    else:
        del os.environ["PYTHONPATH"]
    # Those of the environment itself, as if this were none. Nothing is written beside them.
    del sys.modules["sitecustomize"]
    compiles, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    site.execsitecustomize()
    if site.ENABLE_USER_SITE:
        site.execusercustomize()
    sys.dont_write_bytecode = compiles
    try:
        _load_own_package(os.path.abspath(os.path.join(here, *[os.pardir] * 4)))
        warm_parent = importlib.import_module("shunter.cluster.node.launch.warm_parent")
        is_program = warm_parent.main(int(sys.argv[1]), *sys.argv[2:])
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    if not is_program:
        os._exit(0)


def _load_own_package(directory: str) -> None:
    """The agent's, whatever else of that name the interpreter would find: it may have another version installed."""
    spec = importlib.util.spec_from_file_location("shunter", os.path.join(directory, "__init__.py"))
    assert spec is not None
    assert spec.loader is not None
    package = sys.modules["shunter"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "sitecustomize":
    _serve()
    if "sitecustomize" not in sys.modules:
        raise ImportError(name="sitecustomize")  # as if there were none
