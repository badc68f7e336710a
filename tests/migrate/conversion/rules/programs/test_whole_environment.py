"""A file with all variables is told of, wherever it is written; a list that only people read is not."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.test_indirect_reads import converted, limits, python, shell


@pytest.mark.parametrize(
    "text",
    [
        "env > .env; python train.py --env-file .env",
        "printenv | grep -v SECRET >> /tmp/e; python t.py",
        "export -p > e.sh",
        "declare -px > vars",
        "cd /a && (set > vars)",
        "for i in 1; do env > e; done",
        "env | sort | tee e",
    ],
)
def test_a_file_of_all_variables_is_told_of(text: str) -> None:
    assert "HOST022" in limits(converted(shell(f"{text}\ntorchrun t.py")))


@pytest.mark.parametrize(
    "text", ["json.dump(dict(os.environ), open('e', 'w'))", "f.write(str(os.environ))", "pickle.dump(os.environ, f)"]
)
def test_python_that_writes_all_variables_is_told_of(text: str) -> None:
    assert "HOST022" in limits(converted(python(f"import os, json, pickle\nf = open('e', 'wb')\n{text}")))


@pytest.mark.parametrize(
    "text",
    [
        "export -p | sort | sha1sum | cut -c1-4",
        "N=$(env | wc -l)",
        "true; printenv | grep -v SECRET | cksum",
        "env | grep -E '^(FOLD|JOB)_' | cksum",
        "env | grep ^FOLD_ | wc -l; env | cksum",
        'env | grep "^$PREFIX" | wc -l',
        "env | grep '[' | wc -l",
    ],
)
def test_a_digest_or_the_number_of_all_variables_is_told_of(text: str) -> None:
    assert "HOST022" in limits(converted(shell(f"{text}\ntorchrun t.py")))


@pytest.mark.parametrize(
    "text",
    [
        "len(os.environ)",
        "len(os.environ.copy())",
        "hash(frozenset(os.environ.items()))",
        "hash(str(os.environ))",
        "hashlib.sha256(str(sorted(os.environ.items())).encode()).hexdigest()",
        "hashlib.new('md5', json.dumps(dict(os.environ)).encode()).digest()[0]",
    ],
)
def test_python_that_counts_all_variables_is_told_of(text: str) -> None:
    assert "HOST022" in limits(converted(python(f"import os, train\ntrain.main(seed={text})")))


@pytest.mark.parametrize(
    "text", ["env | sort", "env >&2", "env > /dev/null", "env A=1 python t.py > log", "set -e; python t.py > log", "cat .env > e"]
)
def test_a_list_for_people_is_not(text: str) -> None:
    assert limits(converted(shell(f"{text}\ntorchrun t.py"))) == []


@pytest.mark.parametrize(
    "text", ["env | grep ^FOLD_ | wc -l", "printenv | sort | egrep '^(A|B)=' | md5sum", "env | grep ^FOLD_ > folds"]
)
def test_variables_that_v2_does_not_change_are_not_all(text: str) -> None:
    assert limits(converted(shell(f"{text}\ntorchrun t.py"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "json.dump(os.environ['A'], open('e', 'w'))",
        "print(len(os.environ['A']), hash(os.environ.get('B')), len(dict(os.environ)['A']))",
        "print(len(os.environ.pop('A', '')), len(os.environ.copy()['A']), hash(os.environ.setdefault('A', '1')))",
        "print(hashlib.md5(os.environ.pop('A').encode()), zlib.crc32(str(os.environ['A']).encode()))",
    ],
)
def test_one_variable_is_not_all(text: str) -> None:
    assert limits(converted(python(f"import os, json, hashlib, zlib, train\n{text}\ntrain.main()"))) == []
