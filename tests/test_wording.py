"""Words of the repository: no citation of a text that is not in it, no private vocabulary in names, no crowded folder."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ONE_ID = r"(?:NX\d{1,2}|9-S\d{1,2}|[ABDEGIMNORVWX]\d{1,2}|[HKST][1-9])"
CITED = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\({ONE_ID}(?:(?:, |; |-){ONE_ID})*\)",
        r"NX(?<=\bNX)\d{1,2}\b",
        r"9-S(?<=\b9-S)\d{1,2}\b",
    )
)
"""Handles of a list of requirements: `(E1)`, `(W1-W4, W8)`. Neither findings (`POD007`), nor causes of doctor (`T05`), nor
profiles (`P1`) look like this. Each begins with its own letters, which a search finds ten times as fast as alternatives."""


def _cites(text: str) -> bool:
    return any(pattern.search(text) for pattern in CITED)


def _files(*endings: str) -> list[Path]:
    """The files of the repository with such names."""
    folders = ("src", "tests", "docs", "bench", "conformance", "scripts", "examples", "deploy")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.name.endswith(endings) and path.is_file()]
    return [*ROOT.glob("*.md"), *found]


def _prose(path: Path, text: str) -> list[str]:
    """The comments and strings of Python, the comments of YAML, all lines of Markdown."""
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return [token.string for token in tokens if token.type in (tokenize.COMMENT, tokenize.STRING)]
    lines = text.splitlines()
    return lines if path.suffix == ".md" else [line for line in lines if line.lstrip().startswith(("#", "reason:"))]


def test_no_text_cites_an_id_that_only_a_document_outside_the_repository_explains() -> None:
    found = []
    for path in _files(".py", ".md", ".yaml"):
        text = path.read_text(encoding="utf-8")
        if path != Path(__file__) and _cites(text):
            found += [f"{path.relative_to(ROOT)}: {part[:120]}" for part in _prose(path, text) if _cites(part)]
    assert found == []


@pytest.mark.parametrize("text", ["as upstream (E1).", "(W1-W4, W8)", "refused (9-S23)", "blocked (NX24)", "(T9)"])
def test_a_citation_is_recognized(text: str) -> None:
    assert _cites(text)


@pytest.mark.parametrize(
    "text", ["(POD007)", "(T05)", "(T00, T15)", "profile (P1)", "(A100)", "(H100)", "(v1)", "(1.36)", "(A3 Ultra, A4)"]
)
def test_ids_of_the_product_and_names_of_hardware_are_no_citations(text: str) -> None:
    assert not _cites(text)


SOURCE = ROOT / "src" / "shunter"
BANNED_CLASSES = {
    *("Agreed", "Announcing", "Approach", "Asked", "Begun", "Desk", "Dried", "Equipment", "Invitation", "Judgement", "Kept"),
    *("Knowledge", "Left", "Made", "Meeting", "Noted", "Patience", "Said", "Seen", "Sight", "Situation", "Station", "Supposed"),
    *(
        "Surface",
        "Surroundings",
        "Taken",
        "Teller",
        "Telling",
        "Tidying",
        "Told",
        "Trouble",
        "Twin",
        "Unwrapped",
        "Wanted",
        "Way",
    ),
    *("Way", "Wire", "Wishes", "Why", "_Teller", "_Told", "_Seen", "_Voice"),
}
"""Words that say nothing of what a class is, each once the name of one."""
BANNED_WORDS = {
    *("aftermath", "anew", "anybody", "asked", "begun", "nobody", "somebody", "stems", "surroundings", "taking_on", "telling"),
    *("upkeep", "ways", "whoever", "leads_nowhere", "waiting_no_more", "keeps_pods_back", "taken_on", "last_words"),
    *("said", "told", "wanted"),
}
"""Names of modules and public functions, or whole words of theirs, that a reader of Kubernetes would not guess."""


def _is_banned(name: str) -> bool:
    return any(f"_{word}_" in f"_{name}_" for word in BANNED_WORDS)


CLASS = re.compile(r"^ *class (\w+)", re.MULTILINE)
FUNCTION_OF_MODULE = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)
"""As `ruff format` writes them; those of programs within texts as well."""


def _banned_names(module: str, text: str) -> list[str]:
    """What a module of this text defines by a name that is banned, and the module itself."""
    classes = [name for name in CLASS.findall(text) if name in BANNED_CLASSES]
    functions = [name for name in FUNCTION_OF_MODULE.findall(text) if not name.startswith("_") and _is_banned(name)]
    found = [f"{module}.{name}" for name in (*classes, *functions)]
    return [module, *found] if _is_banned(module.rpartition("/")[2]) else found


def test_no_class_function_or_module_has_a_name_of_the_private_vocabulary() -> None:
    modules = {str(path.relative_to(SOURCE).with_suffix("")): path for path in SOURCE.rglob("*.py")}
    assert [name for module, path in modules.items() for name in _banned_names(module, path.read_text("utf-8"))] == []


def test_banned_names_are_recognized() -> None:
    text = "class Told(A):\n    class Way: ...\n    def told(self): ...\n\n\nasync def what_was_said(): ...\ndef _said(): ...\n"
    assert _banned_names("a/last_words", text) == [
        "a/last_words",
        *(f"a/last_words.{name}" for name in ("Told", "Way", "what_was_said")),
    ]
    assert _banned_names("told/words", "class Toldness: ...\ndef word(): ...\n") == []


WITHOUT_SUBJECT = re.compile(r'"""(?:Those|That of|Of|Whose|Whom) ')


def _without_subject(text: str) -> list[str]:
    """The functions and classes of a module, and of its classes, whose docstrings begin with `Of a pod ...`."""
    if not WITHOUT_SUBJECT.search(text):
        return []
    found, left = [], [*ast.parse(text).body]
    while left:
        node = left.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if WITHOUT_SUBJECT.match(f'"""{ast.get_docstring(node) or ""}'):
                found.append(node.name)
            left += node.body if isinstance(node, ast.ClassDef) else ()
    return sorted(found)


def test_docstrings_name_what_is_returned_not_only_of_what() -> None:
    modules = {str(path.relative_to(SOURCE)): path for path in SOURCE.rglob("*.py")}
    found = {module: _without_subject(path.read_text("utf-8")) for module, path in modules.items()}
    assert {module: names for module, names in found.items() if names} == {}


def test_docstrings_without_their_subject_are_recognized() -> None:
    text = 'class A:\n    def one(self): """Those of a pod."""\n    def _two(self): """Of a pod."""\ndef three(): """Often."""\n'
    assert _without_subject(text) == ["_two", "one"]


def test_no_folder_of_the_source_has_more_than_25_modules() -> None:
    modules = Counter(path.parent for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    assert {str(folder.relative_to(SOURCE)): count for folder, count in modules.items() if count > 25} == {}


MODULE = re.compile(r"\b(?:\w+/)*\w+\.(?:py|js)\b")


@pytest.mark.parametrize("path", [*sorted(SOURCE.rglob("__init__.py")), ROOT / "docs" / "architecture.md"])
def test_modules_that_a_description_names_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    described = (ast.get_docstring(ast.parse(text)) or "") if path.suffix == ".py" else text
    named = set(MODULE.findall(described)) - {"train.py"}  # a program of a user
    assert named - _files_of_code() == set()


ROW_OF_MAP = re.compile(r"^([\w./]+(?:, [\w./]+)*) {2,}\S", re.MULTILINE)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("__init__.py")), ids=lambda path: path.parent.name)
def test_the_map_of_a_package_names_its_own_modules_and_others_by_their_paths(path: Path) -> None:
    """The first column also without `.py`: `parts   a runtime as a frame`."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    below = {str(one.relative_to(path.parent)) for one in path.parent.rglob("*")}
    first = {word.rstrip("/") for row in ROW_OF_MAP.findall(text) for word in row.split(", ") if "." not in word}
    assert [name for name in first if not {name, f"{name}.py", f"{name}.js"} & below] == []
    named = {name for name in MODULE.findall(text) if not name.rpartition("/")[2].startswith("test_")} - {"train.py"}
    others = {name for name in named if not any(f"/{one}".endswith(f"/{name}") for one in below)}
    assert [name for name in others if not any((folder / name).exists() for folder in (ROOT, ROOT / "src", SOURCE))] == []


INDENTED_ROW = re.compile(r"^ *([\w./]+(?:, [\w./]+)*) {2,}\S", re.MULTILINE)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("__init__.py")), ids=lambda path: path.parent.name)
def test_the_description_of_a_package_says_what_each_of_its_modules_is(path: Path) -> None:
    """By `NAME.py` anywhere, or by the bare name in the first column of its map."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    named = {name.removesuffix(".py") for name in MODULE.findall(text)}
    named |= {word.removesuffix(".py") for row in INDENTED_ROW.findall(text) for word in row.split(", ")}
    own = {module.stem for module in path.parent.glob("*.py") if not module.stem.startswith("_")}
    assert sorted(own - named) == []


@cache
def _files_of_code() -> frozenset[str]:
    """By every part of their paths that ends with the name: `plan.py`, `controllers/plan.py`."""
    files = [path.relative_to(ROOT).parts for folder in ("src", "tests", "scripts") for path in (ROOT / folder).rglob("*.*")]
    return frozenset("/".join(parts[start:]) for parts in files for start in range(len(parts)))


PATH_OF_TESTS = re.compile(r"\btests/[\w./-]*\w")


@pytest.mark.parametrize("package", [path.parent for path in sorted(SOURCE.rglob("__init__.py"))], ids=lambda path: path.name)
def test_a_package_with_modules_says_where_its_tests_are(package: Path) -> None:
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    named = PATH_OF_TESTS.findall(text)
    assert [path for path in named if not (ROOT / path).exists()] == []
    has_modules = any(path.name != "__init__.py" for path in package.glob("*.py"))
    assert named or not has_modules, "name the tests in the docstring: `Tests: tests/...`"


TEST_FILE = re.compile(r"(?<![\w/])test_\w+\.py")


@pytest.mark.parametrize("package", [path.parent for path in sorted(SOURCE.rglob("__init__.py"))], ids=lambda path: path.name)
def test_a_file_of_tests_that_a_package_names_is_in_a_folder_that_it_names(package: Path) -> None:
    """`tests/kube/http; limits in test_server.py there`."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    folders = [ROOT / path for path in PATH_OF_TESTS.findall(text)]
    folders += [path.parent for path in folders if path.suffix]
    assert [name for name in TEST_FILE.findall(text) if not any((folder / name).exists() for folder in folders)] == []


NAMED_MODULE = re.compile(r"\b\w+\b")


def _without_tests(package: Path) -> list[str]:
    """The modules that have no file of tests of their name, and are not named where the package says where its tests are. A
    package whose tests are elsewhere altogether says so at first."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    where = text[text.find("Tests:") :]
    own = ROOT / "tests" / package.relative_to(SOURCE)
    places = PATH_OF_TESTS.findall(where)
    if places and ROOT / places[0] != own:
        return []
    named = {*NAMED_MODULE.findall(where)}
    families = tuple(re.findall(r"\b(\w+_)\*", where))
    modules = sorted(path.stem for path in package.glob("*.py") if not path.stem.startswith("_"))
    missing = [name for name in modules if not (own / f"test_{name}.py").exists() and name not in named]
    return [name for name in missing if not (families and name.startswith(families))]


@pytest.mark.parametrize("package", [path.parent for path in sorted(SOURCE.rglob("__init__.py"))], ids=lambda path: path.name)
def test_a_module_has_a_file_of_tests_or_its_package_says_where_they_are(package: Path) -> None:
    """`plan.py in test_start_time.py there`; `warm_*.py in tests/cluster/node/test_warm_start.py`."""
    assert _without_tests(package) == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_tests_that_a_page_names_exist(page: Path) -> None:
    named = PATH_OF_TESTS.findall(page.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []
