"""What Python code makes of the answers of a look-up: a rank, a number of ranks or shards, or nothing that decides one."""

from __future__ import annotations

import pytest

from shunter.migrate.conversion.rules.programs.peers.peer_numbers import SHARE
from shunter.migrate.conversion.rules.programs.peers.results_in_python import found_in_python

COUNT = 'len(socket.getaddrinfo("peers", 1))'
CLASS = """
class Cluster:
    def __init__(self):
        self.peers = socket.gethostbyname_ex('peers')[2]

    @property
    def size(self):
        return len(self.peers)

init(world_size=Cluster().size)"""


@pytest.mark.parametrize(
    ("code", "number"),
    [
        (f"world_size = {COUNT}", "world_size"),
        ("print 'of Python 2'\nworld_size = len(dns.resolver.resolve('peers', 'A'))", "world_size"),
        (f"n: int = {COUNT}\nself.world_size = n * 8", "world_size"),
        (f"init(rank=0, world_size={COUNT})", "world_size"),
        (f"if (n := {COUNT}) > 1:\n    init(world_size=n)", "world_size"),
        (f"n = {COUNT}\nconfig = {{'world_size': n}}", "world_size"),
        (f"n = {COUNT}\nenv = dict(os.environ, WORLD_SIZE=str(n))", "WORLD_SIZE"),
        (f"os.environ.setdefault('WORLD_SIZE', str({COUNT}))", "WORLD_SIZE"),
        (f"os.environ.update({{'WORLD_SIZE': str({COUNT})}})", "WORLD_SIZE"),
        (f"os.environ['WORLD_SIZE'] = f'{{{COUNT}}}'", "WORLD_SIZE"),
        (f"parser.add_argument('--world-size', default={COUNT})", "world-size"),
        (f"n = {COUNT}\nrun(['torchrun', '--nnodes', str(n)])", "nnodes"),
        (f"n = {COUNT}\nrun(f'torchrun --nnodes={{n}} t.py', shell=True)", "--nnodes"),
        (f"n = {COUNT}\nrun('torchrun --nnodes=%d t.py' % n, shell=True)", "--nnodes"),
        (f"n = {COUNT}\nrun('torchrun --nnodes={{}} t.py'.format(n), shell=True)", "--nnodes"),
        (f"n = {COUNT}\ndist.init_process_group('nccl', None, None, n, 0)", "world_size"),
        (f"sampler = DistributedSampler(data, num_replicas={COUNT}, rank=0)", "num_ranks"),
        (f"def count():\n    return {COUNT}\nworld_size = count()", "world_size"),
        ("def peers():\n    return socket.gethostbyname_ex('peers')[2]\nworld_size = len(peers())", "world_size"),
        ("_, _, ips = socket.gethostbyname_ex('peers')\nworld_size = len(set(ips))", "world_size"),
        ("n = 0\nfor a in socket.getaddrinfo('peers', 1):\n    n += 1\nworld_size = n", "world_size"),
        ("ips = set()\nfor a in socket.getaddrinfo('peers', 1):\n    ips.add(a[4][0])\nworld_size = len(ips)", "world_size"),
        ("world_size = sum(1 for _ in dns.resolver.resolve('peers', 'A'))", "world_size"),
        ("rank = sorted(socket.gethostbyname_ex('peers')[2]).index(me)", "rank"),
        ("for i, ip in enumerate(sorted(socket.gethostbyname_ex('peers')[2])):\n    if ip == me:\n        rank = i", "rank"),
        ("from socket import getaddrinfo as look_up\nworld_size = len(look_up('peers', 1))", "world_size"),
        ("world_size = int(os.popen('getent ahosts peers | wc -l').read())", "world_size"),
        ("command = 'getent ahosts peers | wc -l'\nworld_size = int(subprocess.check_output(command, shell=True))", "world_size"),
        ("os.system('torchrun --nnodes=$(getent ahosts peers | wc -l) t.py')", "nnodes"),
        (CLASS, "world_size"),
        (f'exec("""\nworld_size = {COUNT.replace(chr(34), chr(39))}\n""")', "world_size"),
        (
            "CODE = 'import socket; train(world_size=len(socket.getaddrinfo(1, 1)))'\neval(compile(CODE, 'c', 'exec'))",
            "world_size",
        ),
        ("exec('import socket\\nworld_size = len(socket.getaddrinfo(\\'peers\\', 1))')", "world_size"),
        (f"file.write(dedent('''\n  import socket\n  world_size = {COUNT}\n'''))", "world_size"),
        (f"file.write(dedent('''\\\n  import socket\n  world_size = {COUNT}\n'''))", "world_size"),
        ("file.write('''#!/bin/sh\nexport WORLD_SIZE=$(getent ahosts peers | wc -l)\n''')", "WORLD_SIZE"),
        (f"n = {COUNT}\nmine = files[rank::n]", SHARE),
        (f"size = len(files) // {COUNT}\nmine = files[rank * size : (rank + 1) * size]", SHARE),
        (f"per, rest = divmod(len(files), {COUNT})\nstart = int(os.environ['RANK']) * per", SHARE),
        (f"bounds = np.linspace(0, 50_000, {COUNT} + 1)", SHARE),
        ("first = min(socket.gethostbyname_ex('peers')[2])\nrank = 0 if first == ip else 1", "rank"),
        ("is_first = socket.gethostbyname_ex('peers')[2][0] == ip\nif is_first:\n    rank = 0\nelse:\n    rank = 1", "rank"),
        (f"n = {COUNT}\nmine = [one for i, one in enumerate(files) if i % n == rank]", SHARE),
        (f"mine = numpy.array_split(files, {COUNT})[rank]", SHARE),
        (f"for batch in islice(data, rank, None, {COUNT}):\n    step(batch)", SHARE),
        ("{{ .Values.head }}\nworld_size = len(socket.getaddrinfo('peers', 1))", "world_size"),
    ],
)
def test_a_number_that_is_made_of_the_answers(code: str, number: str) -> None:
    assert [*found_in_python(f"import os, socket\n{code}")[0].numbers.values()] == [number.lstrip("-")]


@pytest.mark.parametrize(
    "code",
    [
        f"n = {COUNT}\nworld_size = int(os.environ['WORLD_SIZE']) if n else 1",
        f"n = {COUNT}\nprint(n)\ndef shard(n):\n    return data.shard(num_shards=n)\nshard(4)",
        f"n = {COUNT}\nlog(n)\nfor n in range(4):\n    run(np=n)",
        f"n = {COUNT}\nprint(n)\nsizes = [dict(num_shards=n) for n in (1, 2)]",
        f"n = {COUNT}\nprint(n)\nshard = lambda n: data.shard(num_shards=n)\nshard(4)",
        f"n = {COUNT}\nassert n\nn = int(os.environ['WORLD_SIZE'])\ninit(world_size=n)",
        f"n = {COUNT}\nif n < size:\n    raise RuntimeError(f'world_size={{n}}, not {{size}}')",
        f"n = {COUNT}\nlogger.info('nnodes=%d', n)\nwandb.log({{'world_size': n}})\nprint(f'world_size={{n}}')",
        f"ok = {COUNT} == size\ninit(world_size=size)",
        f"while {COUNT} < size:\n    time.sleep(1)\nworld_size = size",
        "ips = socket.gethostbyname_ex('peers')[2]\nserver = ips[os.getpid() % len(ips)]",
        "ips = socket.gethostbyname_ex('peers')[2]\nask(ips[::len(ips)])",
        f"text = 'WORLD_SIZE=$(getent ahosts peers | wc -l)'\nprint(text, {COUNT})",
        "ips = socket.getaddrinfo('peers', 1)\ninit(world_size=4, address=ips[0])",
        "def f(a):\n    return f(f(a))\nf(1)",
        f"n = {COUNT}\nprint(f'rank {{rank}}: {{len(files) // n}}')",
        f"if {COUNT} < 2:\n    raise SystemExit(1)\nrank = 0",
        f"ready = 1 if {COUNT} > 2 else 0",
        f"while {COUNT} < 3:\n    time.sleep(rank * 0.1)",
        "this is no Python",
    ],
)
def test_answers_that_decide_no_number(code: str) -> None:
    assert not found_in_python(f"import os, socket\n{code}")[0].numbers


@pytest.mark.parametrize(("code", "is_named"), [(f"world_size = {COUNT}", True), (f"n = {COUNT}\nprint(n)", False)])
def test_code_in_code_in_code_is_read(code: str, *, is_named: bool) -> None:
    for _ in range(5):
        code = f"exec({code!r})"
    assert bool(found_in_python(f"import socket\n{code}")[0].numbers) == is_named


def test_long_code_is_read_to_the_end() -> None:
    assert found_in_python("x = f(1)\n" * 12_000 + f"import socket\nworld_size = {COUNT}")[0].numbers


def test_functions_that_call_each_other_twice_are_not_read_without_end() -> None:
    """Each calls the next one twice: read to the end, they would be called 2 to the 60th time."""
    calls = "".join(f"def f{number}(a):\n    return f{number + 1}(f{number + 1}(a))\n" for number in range(60))
    assert found_in_python(f"import socket\nworld_size = {COUNT}\n{calls}f0(1)")[0].numbers
