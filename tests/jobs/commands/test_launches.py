"""Which launchers a container's words start, and with which options. More options are in tests/migrate/conversion/commands."""

from __future__ import annotations

import time

import pytest

from shunter.jobs.commands.launches import launchers_in

LINES: dict[str, tuple[tuple[str, ...], list[tuple[str, dict[str, str]]]]] = {
    "words": (("torchrun", "--nnodes", "2", "t.py", "--nnodes", "3"), [("torchrun", {"nnodes": "2"})]),
    "a path and a module": (
        ("/usr/bin/python", "-m", "torch.distributed.launch", "--nproc_per_node=4", "t.py"),
        [("torchrun", {"nproc-per-node": "4"})],
    ),
    "a shell's text": (
        ("sh", "-c", "cd /x && mpirun -n 4 -mca btl tcp torchrun --nn 2 t.py"),
        [("mpirun", {"np": "4", "mca": "btl tcp"}), ("torchrun", {"nnodes": "2"})],
    ),
    "a text in a text": (
        ("bash", "-c", "bash -lc 'accelerate launch --num_machines 2 t.py'"),
        [("accelerate", {"num-machines": "2"})],
    ),
    "a text with an open quote": (("sh", "-c", "torchrun --nnodes=2 it's"), [("torchrun", {"nnodes": "2"})]),
    "an option without its value": (("torchrun", "--nnodes"), [("torchrun", {"nnodes": ""})]),
    "another command of accelerate": (("accelerate", "config", "--num_machines", "2"), []),
    "a launcher that starts another": (
        ("mpirun", "-np", "2", "bash", "-c", "torchrun --nnodes=2 t.py"),
        [("mpirun", {"np": "2"}), ("torchrun", {"nnodes": "2"})],
    ),
    "Python that starts a launcher by its path": (
        ("python", "/opt/bin/torchrun", "--nnodes=2", "t.py"),
        [("torchrun", {"nnodes": "2"})],
    ),
    "an entry point that runs its arguments": (("/entry.sh", "torchrun", "--nnodes=2", "t.py"), [("torchrun", {"nnodes": "2"})]),
    "parameters of a shell": (
        ("sh", "-c", 'exec "$@"', "sh", "torchrun", "--nnodes=2", "t.py"),
        [("torchrun", {"nnodes": "2"})],
    ),
    "a parameter by its number": (("sh", "-c", "torchrun --nnodes=$1 t.py", "sh", "2"), [("torchrun", {"nnodes": "2"})]),
    "a variable of env": (("env", "N=2", "sh", "-c", "torchrun --nnodes=$N t.py"), [("torchrun", {"nnodes": "2"})]),
    "a launcher's name as a value": (("python", "train.py", "--strategy", "deepspeed", "--num-nodes", "2"), []),
    "no launcher": (("python", "train.py", "--nproc-per-node", "4"), []),
}


@pytest.mark.parametrize(("words", "found"), LINES.values(), ids=LINES)
def test_launchers_in(words: tuple[str, ...], found: list[tuple[str, dict[str, str]]]) -> None:
    assert [(one.launcher, {name: option.value for name, option in one.options.items()}) for one in launchers_in(words)] == found


TORCHRUN_WITH_2 = r"""
torchrun \\n  --nnodes=2 \\n  t.py
torchrun --nproc-per-node 8 \\n --nnodes \\n 2 t.py
set -e;torchrun --nnodes=2 t.py
(torchrun --nnodes=2 t.py)
{ torchrun --nnodes=2 t.py; }
cd /x&&torchrun --nnodes=2 t.py
false||torchrun --nnodes=2 t.py
nvidia-smi|torchrun --nnodes=2 t.py
sleep 9&torchrun --nnodes=2 t.py
echo a\ntorchrun --nnodes=2 t.py
if [ -n "$A" ]; then torchrun --nnodes=2 t.py; fi
if true\nthen torchrun --nnodes=2 t.py;fi
if false; then :; else torchrun --nnodes=2 t.py; fi
if ! torchrun --nnodes=2 t.py; then exit 1; fi
for i in 1 2 3; do torchrun --nnodes=2 t.py; done
while :; do torchrun --nnodes=2 t.py && break; done
case $A in a) torchrun --nnodes=2 t.py;; esac
train() { torchrun --nnodes=2 t.py; }; train
# torchrun --nnodes=3 x.py\ntorchrun --nnodes=2 t.py
torchrun --nnodes=2 t.py # torchrun --nnodes=3
cat >run.sh <<END\ntorchrun --nnodes=3\nEND\ntorchrun --nnodes=2 t.py
bash <<END\ntorchrun --nnodes=2 t.py\nEND
bash -s <<'END'\ntorchrun --nnodes=2 t.py\nEND
echo "torchrun --nnodes=3 x.py"; torchrun --nnodes=2 t.py
echo torchrun --nnodes=3; torchrun --nnodes=2 t.py
"torchrun" '--nnodes=2' t.py
torchrun "--nnodes" "2" t.py >log 2>&1
2>&1 torchrun --nnodes=2 t.py | tee log
$(which torchrun) --nnodes=2 t.py
`which torchrun` --nnodes=2 t.py
"$(command -v /opt/bin/torchrun)" --nnodes=2 t.py
python $(which torchrun) --nnodes=2 t.py
A=1 torchrun --nnodes=2 t.py
env A=1 torchrun --nnodes=2 t.py
exec env -u A nohup time -p nice -n 5 timeout 1h numactl -N 0 torchrun --nnodes=2 t.py
exec python -um torch.distributed.run --nnodes=2 t.py
uv run -m torch.distributed.run --nnodes=2 t.py
N=2; torchrun --nnodes=$N t.py
export N=2\ntorchrun --nnodes="${N}" t.py
START="torchrun --nnodes 2"; $START t.py
eval "torchrun --nnodes=2 t.py"
bash -lc "exec torchrun --nnodes=2 t.py"
torchrun --nnodes=2 it's.py
"""


@pytest.mark.parametrize("line", TORCHRUN_WITH_2.strip().split("\n"))
def test_one_torchrun_with_2_nodes_is_in_the_shell_text(line: str) -> None:
    (found,) = launchers_in(("bash", "-c", line.replace(r"\n", "\n")))
    assert (found.launcher, found.number("nnodes")) == ("torchrun", 2)


NONE = r"""
# torchrun --nnodes=2 t.py
echo "torchrun --nnodes=2 t.py"
echo torchrun --nnodes=2 t.py
pip install -q deepspeed\npython train.py
pip install torchrun;python train.py
python train.py --strategy deepspeed --num-nodes 2
which torchrun; python train.py
cat >run.sh <<END\ntorchrun --nnodes=2 t.py\nEND
CMD='torchrun --nnodes=2 t.py'
[ "$A" = torchrun ]
accelerate config
"""


@pytest.mark.parametrize("line", NONE.strip().split("\n"))
def test_no_launcher_is_started_by_the_shell_text(line: str) -> None:
    assert launchers_in(("bash", "-c", line.replace(r"\n", "\n"))) == ()


UNCERTAIN = r"""
if [ -z "$N" ]; then N=2; fi
if [ -n "$PET_NNODES" ]; then N=$PET_NNODES; else N=2; fi
[ -z "$N" ] && N=2
[ -n "$N" ] || export N=2
[ -n "$N" ] ||\n N=2
[ -n "$N" ] || { M=1; N=2; }
case $A in a) N=2;; esac
for N in 2; do :; done
while read A; do N=2; done
set_nodes() { N=2; }
function set_nodes { N=2; }
(N=2)
true && (cd /x; N=2)
N=2; . /env.sh
N=2; source /env.sh
N=2; read -r N < f
N=2; eval "$(cat f)"
N=2; unset N
N=2; if true; then N=3; fi
: ${N:=2}
N=${N:-2}
"""


@pytest.mark.parametrize("line", UNCERTAIN.strip().split("\n"))
def test_a_value_that_the_text_may_not_give_is_no_number(line: str) -> None:
    text = line.replace(r"\n", "\n")
    (found,) = launchers_in(("bash", "-c", f"{text}\nexec torchrun --nnodes=$N t.py"))
    assert found.option("nnodes") == "$N"


CERTAIN = r"""
N=2
{ N=2; }
if true; then :; fi; N=2
case $A in (a) :;; b) echo;; esac; N=2
for i in 1; do :; done\nN=2
f() { :; }; N=2
f() ( : )\nN=2
(cd /x); N=2
true && { :; }\nN=2
true || exit 1; export N=2
N=2; read -r M < f
"""


@pytest.mark.parametrize("line", CERTAIN.strip().split("\n"))
def test_a_value_that_the_text_always_gives_is_a_number(line: str) -> None:
    text = line.replace(r"\n", "\n")
    (found,) = launchers_in(("bash", "-c", f"{text}\ntorchrun --nnodes=$N t.py"))
    assert found.number("nnodes") == 2


BEHIND = r"""
/entry.sh --verbose torchrun --nnodes=2 t.py
/entry.sh --port 1 /opt/bin/torchrun --nnodes=2 -m train
bash /entry.sh torchrun --nnodes=2 t.py
su user -c "torchrun --nnodes=2 t.py"
runuser -l user -c "torchrun --nnodes=2 t.py"
script -qc "torchrun --nnodes=2 t.py" /dev/null
python -m debugpy --listen 1 -m torch.distributed.run --nnodes=2 t.py
coverage run -m torch.distributed.run --nnodes=2 t.py
ls | xargs torchrun --nnodes=2
ls | xargs -I{} sh -c "torchrun --nnodes=2 {}"
cat > run.sh <<EOF\ntorchrun --nnodes=2 t.py\nEOF\nbash run.sh
cat > run.sh <<'EOF'\ntorchrun --nnodes=2 t.py\nEOF\nchmod +x run.sh; ./run.sh
cat <<EOF > /tmp/run.sh\ntorchrun --nnodes=2 t.py\nEOF\n. /tmp/run.sh
"""


@pytest.mark.parametrize("line", BEHIND.strip().split("\n"))
def test_a_launcher_is_found_behind_a_program_that_is_not_known(line: str) -> None:
    (found,) = launchers_in(("bash", "-c", line.replace(r"\n", "\n")))
    assert (found.launcher, found.number("nnodes")) == ("torchrun", 2)


@pytest.mark.parametrize(
    "line",
    [
        "echo hi | xargs pip install deepspeed",
        "conda install deepspeed pytorch",
        "train --strategy deepspeed --num-nodes 2",
        "train --launcher torchrun data",
        "bash train.sh deepspeed",
        "python -m train --strategy deepspeed --num-nodes 2 data",
        "ls | xargs echo torchrun --nnodes=2 t.py",
    ],
)
def test_the_name_of_a_launcher_among_words_of_a_program_starts_none(line: str) -> None:
    assert launchers_in(("bash", "-c", line)) == ()


def test_parameters_count_for_what_is_read_of_a_container() -> None:
    """4000 times 4000 of them took 20 seconds."""
    began = time.process_time()
    assert launchers_in(("bash", "-c", '"$@"\n' * 4000, "x", *["a"] * 4000)) == ()
    assert time.process_time() - began < 8


@pytest.mark.parametrize("value", ["$N", "${N}", "${N:-2}", "$(nproc)", "$((A * 2))", "$(PET_NNODES)", '"$N"'])
def test_a_value_that_is_replaced_at_run_time_is_no_number(value: str) -> None:
    (found,) = launchers_in(("bash", "-c", f"torchrun --nnodes={value} t.py"))
    assert "nnodes" in found.options
    assert found.number("nnodes") is None


@pytest.mark.parametrize(
    "options",
    [
        "-env A=1", "-genv I_MPI_DEBUG=5 -env B 2",
        "--output tag", "--stdin none", "--tune f", "--display map", "-x A=1 -x B", "--mca btl tcp", "--map-by slot -H a,b",
        "-genv A 1 -env B 2", "-launcher ssh -iface eth0", "--allow-run-as-root --tag-output", "--report-uri -",
    ],
)  # fmt: skip
def test_an_option_of_mpirun_with_a_value_does_not_hide_the_next(options: str) -> None:
    (found,) = launchers_in(("mpirun", *options.split(), "-np", "2", "t"))
    assert found.number("np") == 2


def test_variables_that_double_and_shells_without_end_are_left_off() -> None:
    text = "x=aaaaaaaa;" + "x=$x$x;" * 40 + 'eval "$x"; torchrun --nnodes=2 t.py'
    assert [one.number("nnodes") for one in launchers_in(("sh", "-c", text))] == [2]
    assert launchers_in(("sh", "-c", 'sh -c "$0" "$0"', 'sh -c "$0" "$0"')) == ()


def test_an_option_is_named_as_it_was_written() -> None:
    (found,) = launchers_in(("mpirun", "--np", "4", "t"))
    assert (found.written("np"), found.written("H"), found.number("np"), found.number("H")) == ("--np 4", "", 4, None)
