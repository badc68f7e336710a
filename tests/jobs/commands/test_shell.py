"""Shell text as commands and words, each with its place."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.jobs.commands import shell
from shunter.jobs.commands.shell_words import Lexer, Word

COMMANDS = {
    "words, and a comment": ("python train.py --lr 0.1 # slow", [["python", "train.py", "--lr", "0.1"]]),
    "several commands": (
        "set -e; cd /w && pip install x || exit 1\npython t.py &",
        [
            ["set", "-e"],
            ["cd", "/w"],
            ["pip", "install", "x"],
            ["exit", "1"],
            ["python", "t.py"],
        ],
    ),
    "a line that goes on": ("torchrun \\\n  --nnodes 2 \\\n  t.py", [["torchrun", "--nnodes", "2", "t.py"]]),
    "quotes within words": ("""python 't 1.py' --x="a b"'c'\\ d""", [["python", "t 1.py", "--x=a bc d"]]),
    "a pipe, files and descriptors": ("python t.py 2>&1 >>out.log < in | tee log", [["python", "t.py"], ["tee", "log"]]),
    "conditions": (
        'if [ "$RANK" = 0 ]; then python a.py; else python b.py; fi',
        [
            ["[", "$RANK", "=", "0", "]"],
            ["python", "a.py"],
            ["python", "b.py"],
        ],
    ),
    "double brackets": ("[[ $RANK == 0 && -f x ]] && python t.py", [["python", "t.py"]]),
    "coprocesses": (
        "coproc { ssh a ls; }; coproc W { cat; }; coproc ssh b; echo coproc",
        [["ssh", "a", "ls"], ["cat"], ["ssh", "b"], ["echo", "coproc"]],
    ),
    "a loop": ("for i in 1 2 3; do python t.py $i; done", [["python", "t.py", "$i"]]),
    "a loop that waits": (
        "until nslookup m; do sleep 1; done; python t.py",
        [["nslookup", "m"], ["sleep", "1"], ["python", "t.py"]],
    ),
    "a case": (
        'case "$RANK" in\n 0|1) python a.py ;;\n *) python b.py;;\nesac\npython c.py',
        [
            ["python", "a.py"],
            ["python", "b.py"],
            ["python", "c.py"],
        ],
    ),
    "a function": ('run() { python t.py "$@"; }\nrun --lr 1', [["python", "t.py", "$@"], ["run", "--lr", "1"]]),
    "groups": ("( cd /w && python t.py ) & { wait; }", [["cd", "/w"], ["python", "t.py"], ["wait"]]),
    "arithmetic": ("((N = N + 1)); python t.py $((RANK + 1))", [["$((N = N + 1))"], ["python", "t.py", "$((RANK + 1))"]]),
    "substitutions": ("python t.py $(hostname -i) `date`", [["python", "t.py", "$(hostname -i)", "$(date)"]]),
}


@pytest.mark.parametrize(("text", "commands"), COMMANDS.values(), ids=COMMANDS)
def test_text_is_taken_apart_into_its_commands(text: str, commands: list[list[str]]) -> None:
    read = shell.script(text)
    assert [[value for word in command.words for value in shell.expanded(word, {})] for command in read.commands] == commands


REFERENCES = {
    "plain and in braces": ("echo $RANK ${WORLD_SIZE}", ["$RANK", "${WORLD_SIZE}"]),
    "in double quotes, not in single ones": ("""echo "$RANK" '$WORLD_SIZE'""", ["$RANK"]),
    "with a default, and one within": ("echo ${MASTER_ADDR:-$HOST}", ["${MASTER_ADDR:-$HOST}", "$HOST"]),
    "in a condition": ("[[ $RANK == 0 ]]", ["$RANK"]),
    "in arithmetic": ("echo $((RANK + 1))", ["RANK"]),
    "in a substitution": ("echo $(echo `echo $RANK`)", ["$RANK"]),
    "in a here-document": ("cat <<END\nrank $RANK\nEND\n", ["$RANK"]),
    "not in a here-document whose end is quoted": ("cat <<'END'\nrank $RANK\nEND\n", []),
    "escaped": ("echo \\$RANK", []),
    "not in a comment": ("echo # $RANK", []),
    "in an assignment": ("export RANK=${OMPI_RANK}", ["${OMPI_RANK}"]),
}


@pytest.mark.parametrize(("text", "written"), REFERENCES.values(), ids=REFERENCES)
def test_variables_are_found_where_they_are_replaced(text: str, written: list[str]) -> None:
    found = shell.references(text, shell.script(text))
    assert [text[reference.start : reference.end] for reference in found] == written


def test_variable_with_spaces_becomes_several_words_unless_it_is_quoted() -> None:
    plain, quoted = shell.script('$RUN "$RUN"').commands[0].words
    values = {"RUN": "python train.py"}
    assert shell.expanded(plain, values) == ["python", "train.py"]
    assert shell.expanded(quoted, values) == ["python train.py"]


def test_a_loop_over_words_is_known_with_its_body() -> None:
    text = "for a in x 'y z'; do while b; do c; done; done; select d in e; do f; done; echo for g in h; do i; done"
    found = [(loop.name, [word.literal for word in loop.words], text[loop.start : loop.end]) for loop in shell.script(text).loops]
    assert found == [("a", ["x", "y z"], " while b; do c; done; ")]


def test_a_word_that_is_read_is_the_input_of_its_command() -> None:
    text = "bash <<< 'python t.py'; cat <<< word; wc <<< $X"
    inputs = [command.input for command in shell.script(text).commands]
    assert [given.text if given else None for given in inputs] == ["python t.py", "word", None]
    assert all(text.startswith(given.text, given.start) for given in inputs if given)


def test_here_document_is_the_input_of_its_command() -> None:
    text = "python - <<-'END' --x\n\timport torch\n\tEND\necho done"
    first, second = shell.script(text).commands
    assert first.input is not None
    assert first.input.text == "\timport torch\n"
    assert text[first.input.start :].startswith(first.input.text)
    assert second.input is None


PIECES = st.sampled_from(
    [
        "python",
        "$RANK",
        "${X:-",
        "}",
        "$(",
        ")",
        "`",
        '"',
        "'",
        "\\",
        "\n",
        " ",
        ";",
        "&&",
        "|",
        "<<",
        "END",
        "#",
        "case",
        "in",
        "esac",
        "if",
        "fi",
        "((",
        "))",
        "[[",
        "]]",
        "x=",
        ">",
        "for",
        "do",
        "é",
    ]
)


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=25).map("".join), st.lists(PIECES, max_size=25).map(" ".join)))
def test_any_text_can_be_read_and_places_are_within_it(text: str) -> None:
    read = shell.script(text)
    for word in read.words:
        assert 0 <= word.start <= word.end <= len(text)
        for piece in word.pieces:
            assert word.start <= piece.start <= word.end
    for reference in shell.references(text, read):
        assert 0 <= reference.start <= reference.end <= len(text)


def test_deeply_nested_substitutions_can_be_read() -> None:
    text = "$(" * 3000
    assert list(shell.references(text, shell.script(text))) == []


@given(
    st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1), min_size=1, max_size=6)
)
def test_quoted_words_are_read_as_they_were(words: list[str]) -> None:
    (command,) = shell.script(shlex.join(["run", *words])).commands
    assert [word.literal for word in command.words] == ["run", *words]


@given(
    st.lists(st.sampled_from(["python", "-u", "a b", 'x"y', "it's", "$HOME", "--x=1", "*", "\\", "#no"]), min_size=1, max_size=6)
)
def test_each_word_stands_where_its_place_says(words: list[str]) -> None:
    text = f"cd /work && {shlex.join(words)} ; true"
    command = shell.script(text).commands[1]
    assert [shlex.split(text[word.start : word.end])[0] for word in command.words] == words


@pytest.mark.parametrize(
    ("text", "arithmetic"),
    [
        ("$((1 + (2)))", ["1 + (2)"]),
        ("((a = (1\n+ 2)))", ["a = (1\n+ 2)"]),
        ("$((1\n+ 2))", []),
        ("$((1; 2))", []),
        ("((" * 5000, []),
    ],
    ids=["brackets within", "lines within brackets", "lines", "commands", "never closed"],
)
def test_arithmetic_is_what_is_closed_before_a_command_ends(text: str, arithmetic: list[str]) -> None:
    pieces = [piece for token in Lexer(text).tokens() if isinstance(token, Word) for piece in token.pieces]
    assert [piece.value for piece in pieces if piece.kind == "arithmetic"] == arithmetic
