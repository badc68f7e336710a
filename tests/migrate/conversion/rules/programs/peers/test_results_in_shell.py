"""What a shell text makes of the answers of a look-up: a rank, a number of ranks or shards, or nothing that decides one."""

from __future__ import annotations

import pytest

from shunter.migrate.conversion.rules.programs.peers.peer_numbers import SHARE
from shunter.migrate.conversion.rules.programs.peers.results_in_python import found_in_python
from shunter.migrate.conversion.rules.programs.peers.results_in_shell import found_in_shell

COUNT = "$(getent ahosts peers | wc -l)"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (f"WORLD_SIZE={COUNT}", "WORLD_SIZE"),
        ("i=0; while getent hosts peer-$i > /dev/null; do i=$((i + 1)); done; torchrun --nnodes=$i t.py", "nnodes"),
        (f"N={COUNT}\nM=$N\nexport NNODES=$((M + 1))", "NNODES"),
        (f"torchrun --nnodes=1:{COUNT} train.py", "nnodes"),
        (f'torchrun --nnodes "{COUNT}" train.py', "nnodes"),
        (f"python train.py trainer.num_nodes={COUNT}", "trainer.num_nodes"),
        ("HOSTS=($(dig +short peers))\nexport WORLD_SIZE=${#HOSTS[@]}", "WORLD_SIZE"),
        ("mapfile -t H < <(dig +short peers)\nNNODES=${#H[@]}", "NNODES"),
        ("A=()\nfor h in $(dig +short peers); do A+=($h); done\nNNODES=${#A[@]}", "NNODES"),
        ("IFS=, read -ra A <<< $(dig +short peers | paste -sd,)\nexport WORLD_SIZE=${#A[@]}", "WORLD_SIZE"),
        ("read -r WORLD_SIZE < <(getent ahosts peers | wc -l)", "WORLD_SIZE"),
        (f"bash <<'EOF'\nexport WORLD_SIZE={COUNT}\nEOF", "WORLD_SIZE"),
        (f"cat <<'EOF' | bash\nexport WORLD_SIZE={COUNT}\nEOF", "WORLD_SIZE"),
        (f"cat > run.sh <<'EOF'\nexport WORLD_SIZE={COUNT}\nEOF\nbash run.sh", "WORLD_SIZE"),
        (f"cat > run.sh <<EOF\nN=\\{COUNT}\ntorchrun --nnodes=\\$N t.py\nEOF\nbash run.sh", "nnodes"),
        (f"tee run.sh <<EOF\nN=\\{COUNT}\ntorchrun --nnodes=\"\\${{N}}\" t.py\nEOF", "nnodes"),
        (f"echo 'export WORLD_SIZE={COUNT}' >> ~/.bashrc", "WORLD_SIZE"),
        (f'echo "export WORLD_SIZE=\\{COUNT}" >> ~/.bashrc', "WORLD_SIZE"),
        (f"printf 'torchrun --nnodes={COUNT} t.py' | sh", "nnodes"),
        (f"tmux new-session -d 'export WORLD_SIZE={COUNT}; python t.py'", "WORLD_SIZE"),
        (f"N={COUNT}\nfor f in /data/*; do [ $((i % N)) -eq $RANK ] && echo $f; i=$((i + 1)); done", SHARE),
        (f"N={COUNT}\nwhile read f; do if (( i++ % N == RANK )); then echo $f; fi; done < files", SHARE),
        (f"N={COUNT}\nawk -v n=$N -v r=$RANK 'NR % n == r' files > mine", SHARE),
        (f"split -n l/{COUNT} files part-", SHARE),
        (f"printf -v WORLD_SIZE %d {COUNT}", "WORLD_SIZE"),
        (f": ${{WORLD_SIZE:={COUNT}}}", "WORLD_SIZE"),
        ("count() { getent ahosts peers | wc -l; }\nexport WORLD_SIZE=$(count)", "WORLD_SIZE"),
        ('count() { dig +short "$1" | wc -l; }\ntorchrun --nnodes=$(count peers) train.py', "nnodes"),
        (f"start() {{ torchrun --nnodes=$1 train.py; }}\nstart {COUNT}", "nnodes"),
        ("N=0; for h in $(getent ahosts peers | sort -u); do N=$((N + 1)); done; export WORLD_SIZE=$N", "WORLD_SIZE"),
        ("N=0; for h in $(getent ahosts peers); do ((N++)); done; export WORLD_SIZE=$N", "WORLD_SIZE"),
        ("N=0\nwhile read -r ip; do let N+=1; done < <(getent ahosts peers)\nNNODES=$N", "NNODES"),
        ("getent ahosts peers | wc -l > /tmp/n\nWORLD_SIZE=$(cat /tmp/n)", "WORLD_SIZE"),
        ("getent ahosts peers | tee /tmp/h\nWORLD_SIZE=$(wc -l < /tmp/h)", "WORLD_SIZE"),
        (f"set -- {COUNT}; torchrun --nnodes $1", "nnodes"),
        ("getent ahosts peers | wc -l | xargs -I{} torchrun --nnodes={} train.py", "nnodes"),
        (f"cat > c.json <<EOF\n{{\"world_size\": {COUNT}}}\nEOF", "world_size"),
        (f'echo "{{\\"world_size\\": {COUNT}}}" > c.json', "world_size"),
        (f"sed -i 's/num_nodes: .*/num_nodes: '{COUNT}/ conf.yaml", "num_nodes"),
        (f"N={COUNT}; bash -c \"torchrun --nnodes=$N train.py\"", "nnodes"),
        (f"bash -c 'export WORLD_SIZE={COUNT}'", "WORLD_SIZE"),
        ('WORLD_SIZE=$(python -c "import socket; print(len(socket.getaddrinfo(\'peers\', 1)))")', "WORLD_SIZE"),
        ("FIRST=$(dig +short peers | sort | head -1)\n[ $FIRST = $POD_IP ] && R=0 || R=1\npython t.py --rank $R", "rank"),
        ("if dig +short peers | head -1 | grep -qx $POD_IP; then export RANK=0; else export RANK=1; fi", "RANK"),
        ('case "$(dig +short peers | head -1)" in $POD_IP) R=0;; *) R=1;; esac\npython t.py --rank $R', "rank"),
        ("if [[ $(dig +short peers | head -1) == $POD_IP ]]; then\n  torchrun --node_rank 0 t.py\nfi", "node_rank"),
        (f"N={COUNT}\nPER=$((1000 / N))\nsed -n \"$((RANK * PER)),+${{PER}}p\" files", SHARE),
        ("n=0; for h in $(dig +short peers); do n=$(expr $n + 1); done; export WORLD_SIZE=$n", "WORLD_SIZE"),
        ("RANK=$(getent ahosts peers | sort -u | grep -n $POD_IP | cut -d: -f1)", "RANK"),
    ],
)  # fmt: skip
def test_a_number_that_is_made_of_the_answers(text: str, number: str) -> None:
    assert [*found_in_shell(text, found_in_python)[0].numbers.values()] == [number]


@pytest.mark.parametrize(
    "text",
    [
        f"cat <<EOF\nWORLD_SIZE={COUNT}\nEOF",
        f'echo "world_size={COUNT}" >&2',
        "i=0; until getent hosts peer > /dev/null; do i=$((i + 1)); done; torchrun --nnodes=$i t.py",
        "i=0; while ! getent hosts peer > /dev/null; do i=$((i + 1)); done; torchrun --nnodes=$i t.py",
        f'logger "nnodes={COUNT}"',
        f"N={COUNT}; echo $N; N=4; torchrun --nnodes=$N train.py",
        f"N={COUNT}; echo $N\nread -r N < /etc/nnodes\ntorchrun --nnodes=$N train.py",
        f"N={COUNT}; echo $N\nfor N in 1 2; do torchrun --nnodes=$N train.py; done",
        f"N={COUNT}; unset N; torchrun --nnodes=$N train.py",
        f"wait_for() {{ local N={COUNT}; [ $N -ge 3 ]; }}\nN=4\nwait_for\ntorchrun --nnodes=$N train.py",
        f"until [ {COUNT} -ge $WORLD_SIZE ]; do sleep 1; done; torchrun --nnodes=$WORLD_SIZE train.py",
        f'curl -d "{{\\"world_size\\": {COUNT}}}" http://metrics',
        "IP=$(getent hosts peers | awk '{print $1}')\nN=${#IP}\ntorchrun --nnodes=$N train.py",
        "NNODES=$(getent ahosts peers | head -1 | wc -l)",
        "HOSTS=($(dig +short peers))\npython train.py --rank ${HOSTS[0]}",
        f"echo 'WORLD_SIZE={COUNT}'",
        f"cat <<'EOF'\nWORLD_SIZE={COUNT}\nEOF",
        f"N={COUNT}\ncurl http://metrics/$((RANDOM % N))",
        "f() { g; }; g() { f; }; f",
        f"[ {COUNT} -ge 2 ] || exit 1\nexport RANK=0",
        f"if [ {COUNT} -lt 2 ]; then echo few; exit 1; fi\nRANK=0 python train.py",
        f"until [ {COUNT} -ge 3 ]; do sleep 1; done\nR=0\npython train.py --rank $R",
        f"if [[ {COUNT} -ge 2 ]]; then READY=1; fi\npython train.py --node-rank 0",
        f"N={COUNT}\nPER=$((1000 / N)); echo rank $RANK: $PER",
        "IP=$(getent hosts peers | head -1)\n[ -n $IP ] && echo $IP; python train.py --master-addr $IP --rank $RANK",
    ],
)
def test_answers_that_decide_no_number(text: str) -> None:
    assert not found_in_shell(text, found_in_python)[0].numbers


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("if getent hosts peers; then nslookup peers; fi", 2),
        ("timeout 5 nslookup peers; sudo -n dig peers; xargs -n1 host", 3),
        ("/usr/bin/getent hosts peers", 1),
        ("x=$(bash -c 'getent hosts peers')", 1),
        ("N := $(shell getent ahosts peers)", 1),
        ("echo host peers; apt-get install -y dig nslookup; host = peers; # dig peers", 1),
    ],
)
def test_a_program_is_started_where_a_command_begins(text: str, starts: int) -> None:
    assert len(found_in_shell(text, found_in_python)[0].places) == starts


def test_long_texts_are_read_to_the_end() -> None:
    assert found_in_shell("echo a\n" * 21_000 + f"WORLD_SIZE={COUNT}", found_in_python)[0].numbers


def test_texts_within_texts_are_not_read_without_end() -> None:
    begin = "".join(f"cat > f{number} <<'E{number}'\n" for number in range(400))
    end = "".join(f"E{number}\n" for number in reversed(range(400)))
    assert found_in_shell(f"WORLD_SIZE={COUNT}\n{begin}getent hosts peers\n{end}", found_in_python)[0].numbers


def test_functions_that_call_each_other_twice_are_not_read_without_end() -> None:
    """Each calls the next one twice: read to the end, they would be called 2 to the 60th time."""
    calls = "".join(f"f{number}() {{ f{number + 1}; f{number + 1}; }}\n" for number in range(60))
    assert found_in_shell(f"WORLD_SIZE={COUNT}\n{calls}f0", found_in_python)[0].numbers
