"""Names and addresses of pods that become parts of paths and names are told of; those that are only called are not."""

from __future__ import annotations

import base64

import pytest

from migrate.conversion.rules.jobs_with_config_map import with_config_map
from migrate.conversion.rules.test_indirect_reads import converted, limits, python, shell
from shunter.api.meta import Json


@pytest.mark.parametrize(
    "command",
    [
        shell("mkdir -p /ckpt/$MASTER_ADDR; python t.py"),
        shell("python t.py --run-name=${MASTER_ADDR}"),
        shell("RUN_ID=$MASTER_ADDR python t.py"),
        python("import os\np = os.path.join('/ckpt', os.environ['MASTER_ADDR'])"),
        python("import os\np = '/ckpt/' + os.environ['MASTER_ADDR']"),
    ],
)
def test_an_address_in_the_name_of_a_directory_or_a_run_is_told_of(command: list[str]) -> None:
    assert "HOST010" in limits(converted(command))


@pytest.mark.parametrize(
    "command",
    [
        shell("curl http://$MASTER_ADDR/x; torchrun --nproc_per_node=1 --master_addr $MASTER_ADDR t.py"),
        shell("until nc -z $MASTER_ADDR 80; do sleep 1; done; ray start --address=$MASTER_ADDR:6379"),
        shell("scp /a/b $MASTER_ADDR:/c; python t.py --head_node_ip $MASTER_ADDR"),
        python("import os\nurl = 'tcp://' + os.environ['MASTER_ADDR']"),
        python("import os\nif os.environ['MASTER_ADDR'] in ('localhost', '127.0.0.1'): alone()"),
        shell('[ "$MASTER_ADDR" = localhost ] && exit 1; python t.py'),
    ],
)
def test_an_address_that_is_called_or_compared_with_what_no_pod_is_called_is_not(command: list[str]) -> None:
    assert limits(converted(command)) == []


@pytest.mark.parametrize(
    "command",
    [
        shell('[ "$MASTER_ADDR" = localhost -o "$HOSTNAME" = p-master-0 ] && python a.py || python b.py'),
        shell('if [ "$HOSTNAME" = p-master-0 -a "$BIND" = 0.0.0.0 ]; then python a.py; else python b.py; fi'),
        shell('test localhost != "$MASTER_ADDR" -a "$(hostname)" = p-master-0 && python a.py'),
        shell('[ ! \\( "$BIND" = ::1 -o "$HOSTNAME" = p-master-0 \\) ] && python a.py'),
        shell('[ "$HOSTNAME" = "$MASTER_ADDR" -a "$MASTER_ADDR" != 127.0.0.1 ] && python a.py'),
        python("import os, socket\nif socket.gethostname() == os.environ['MASTER'] != 'localhost': alone()"),
    ],
)
def test_a_comparison_beside_one_with_what_no_pod_is_called_decides(command: list[str]) -> None:
    assert "HOST009!" in limits(converted(command))


@pytest.mark.parametrize(
    "text",
    [
        '[ "$MASTER_ADDR" = localhost -o "$MASTER_ADDR" = 127.0.0.1 ] && exit 1; python t.py',
        'test ! localhost = "$MASTER_ADDR" -a -n "$MASTER_ADDR" && python t.py',
        '[ \\( "$MASTER_ADDR" != ::1 \\) -o "$LEVEL" = 3 ] && python t.py',
    ],
)
def test_comparisons_of_which_each_has_what_no_pod_is_called_decide_nothing(text: str) -> None:
    assert "HOST009!" not in limits(converted(shell(text)))


def test_a_directory_of_a_volume_that_is_named_after_an_address_is_told_of() -> None:
    mount: Json = {"name": "c", "mountPath": "/c"}
    pod = {"volumes": [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]}
    for expression, expected in (("$(MASTER_ADDR)/x", ["HOST010"]), ("rank-$(RANK)", [])):
        mounts = [{**mount, "subPathExpr": expression}]
        assert limits(converted(["python", "t.py"], pod=pod, volumeMounts=mounts)) == expected


def test_scripts_in_binary_data_are_read() -> None:
    text = base64.b64encode(b"export SHARD=${HOSTNAME##*-}\npython t.py\n").decode()
    mounts = [{"name": "code", "mountPath": "/code"}]
    volumes: list[Json] = [{"name": "code", "configMap": {"name": "settings"}}]
    container = {"command": ["sh", "/code/run.sh"], "volumeMounts": mounts}
    found = with_config_map(container, {"binaryData": {"run.sh": text, "logo.png": "iVBORw0KGgo="}}, volumes=volumes)
    assert "HOST009!" in limits(found)


def test_what_supervisord_puts_in_is_told_of() -> None:
    for text in ("%(host_node_name)s", "%(ENV_HOSTNAME)s"):
        mounts = [{"name": "code", "mountPath": "/code"}]
        volumes: list[Json] = [{"name": "code", "configMap": {"name": "settings"}}]
        container = {"command": ["supervisord"], "volumeMounts": mounts}
        data = {"data": {"s.conf": f"[program:t]\ncommand=python t.py --name {text}\n"}}
        assert "HOST010" in limits(with_config_map(container, data, volumes=volumes))


@pytest.mark.parametrize(
    "command",
    [
        shell("N=$(wc -l < /etc/mpi/hostfile)\npython t.py --world-size $((N + 1))"),
        shell("export WORLD_SIZE=$(awk 'END{print NR}' /etc/mpi/hostfile)\npython t.py"),
        shell("export WORLD_SIZE=$(grep -c slots /etc/mpi/hostfile)\npython t.py"),
        shell("N=$(awk -F= '{s+=$2} END{print s}' /etc/mpi/hostfile)\npython t.py --world-size $N"),
        shell("N=$(sed -n '$=' /etc/mpi/hostfile); python t.py"),
        shell("for h in $(awk '{print $1}' /etc/mpi/hostfile); do ping -c1 $h; done; python t.py"),
        shell("export MASTER_ADDR=$(head -1 /etc/mpi/hostfile | cut -d' ' -f1); python t.py"),
        shell("export NNODES=$(awk '{print $1}' /etc/mpi/hostfile | sort -u | wc -l); python t.py"),
        python("with open('/etc/mpi/hostfile') as f:\n    train(world_size=sum(1 for _ in f))"),
        python("train(world_size=sum(int(l.split('=')[1]) for l in open('/etc/mpi/hostfile')))"),
        python("hosts = [l.strip().split(' ')[0] for l in open('/etc/mpi/hostfile')]\ntrain(hosts[0], len(hosts))"),
        python("first = open('/etc/mpi/hostfile').read().splitlines()[0]"),
        shell("N=$(wc -l < /etc/mpi/hostfile); python t.py --batch-size $((256 / N)) --size $N"),
        python("train(lr=0.1 * sum(1 for _ in open('/etc/mpi/hostfile')))"),
    ],
)
def test_the_number_of_hosts_and_slots_of_an_mpi_job_is_the_same_in_v2(command: list[str]) -> None:
    assert "HOST009!" not in limits(converted(command, "MPIJob"))


@pytest.mark.parametrize(
    "command",
    [
        shell("export WORLD_SIZE=$(grep -c worker /etc/mpi/hostfile); python t.py"),
        shell("N=$(awk '/worker/{n++} END{print n}' /etc/mpi/hostfile); python t.py"),
        shell("N=$(wc -l < /etc/mpi/hostfile); R=$(cut -d' ' -f1 /etc/mpi/hostfile | grep -n worker-3); python t.py"),
        shell("for h in $(awk '{print $1}' /etc/mpi/hostfile); do R=${h##*-}; done; python t.py"),
        shell("awk '{print $1}' /etc/mpi/hostfile > /tmp/h\ncut -d- -f3 /tmp/h; python t.py"),
        shell("horovodrun -H $(awk '{print $1\"-data:1\"}' /etc/mpi/hostfile | tr '\\n' ,) python t.py"),
        shell("horovodrun -H $(awk '{print $1\".bert-workers:1\"}' /etc/mpi/hostfile | tr '\\n' ,) python t.py"),
        shell("horovodrun -H $(awk '{print $1\"\"2}' /etc/mpi/hostfile | tr '\\n' ,) python t.py"),
        shell("horovodrun -H $(sed 's/ slots=1/-0.bert-worker/g' /etc/mpi/hostfile | paste -sd,) python t.py"),
        shell("horovodrun -H $(sed 's/ slots=//' /etc/mpi/hostfile | paste -sd,) python t.py"),
        shell("horovodrun -H $(sed -e 's/ slots=.*//' -e 's/$/-data:1/' /etc/mpi/hostfile | paste -sd,) python t.py"),
        *(
            shell(f"mpirun -H $(awk '{{print $1}}' /etc/mpi/hostfile | {joined}) python t.py")
            for joined in (
                "tr '\\n' worker",
                "tr '\\n' -",
                "tr -d 'a-z-'",
                "cut -f1 -d-",
                "xargs printf '%s-data:1,'",
                "xargs -I@ echo @-data:1",
                "paste -sd-",
            )
        ),
        python("n = sum(1 for l in open('/etc/mpi/hostfile') if 'worker' in l)\ntrain(n)"),
        python("ids = [int(l.split('-')[-1].split()[0]) for l in open('/etc/mpi/hostfile')]\ntrain(ids)"),
    ],
)
def test_what_is_taken_out_of_the_names_of_hosts_decides(command: list[str]) -> None:
    assert "HOST009!" in limits(converted(command, "MPIJob"))


RANK_OF_HOST = "read first rest < /etc/mpi/hostfile; export RANK=${first##*-}; python t.py"


def of_hostfile(text: str, path: str = "/etc/mpi") -> list[str]:
    """What limits the proof of a PyTorchJob that takes a rank from the hostfile of its own ConfigMap."""
    container: Json = {"command": shell(RANK_OF_HOST), "volumeMounts": [{"name": "hosts", "mountPath": path}]}
    volumes = [{"name": "hosts", "configMap": {"name": "settings"}}]
    return limits(with_config_map(container, {"data": {"hostfile": text}}, volumes=volumes))


def test_a_hostfile_of_the_job_itself_changes_where_it_lists_pods() -> None:
    assert of_hostfile("bert-master-0 slots=8\nbert-worker-0 slots=8\n") == ["HOST005", "HOST009!"]
    assert of_hostfile("gpu-0.example.org slots=8\ngpu-1.example.org slots=8\n") == []


def test_a_hostfile_that_only_the_image_has_stays() -> None:
    assert of_hostfile("bert-master-0 slots=8\n", path="/cfg") == ["HOST005"]
    assert limits(converted(shell(RANK_OF_HOST))) == []
    assert "HOST009!" in limits(converted(shell(RANK_OF_HOST), kind="MPIJob"))


def test_a_hostfile_that_nobody_has_read_may_list_pods() -> None:
    pod: Json = {"volumes": [{"name": "hosts", "configMap": {"name": "elsewhere"}}]}
    conversion = converted(shell(RANK_OF_HOST), pod=pod, volumeMounts=[{"name": "hosts", "mountPath": "/etc/mpi/"}])
    (found,) = (one for one in conversion.findings if one.topic.id == "HOST009")
    assert "It lists" not in found.message
