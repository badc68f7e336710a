"""What Python reads of its pod."""

from __future__ import annotations

import pytest

from migrate.conversion.commands.read_kinds import DECIDES, KNOWN, LAST, SHOWS, kinds_of
from shunter.migrate.conversion.commands import python_reads, shell_reads

PYTHON = {
    "import os\nr = getattr(os, 'un' + 'ame')().nodename.split('-')[-1]": [LAST],
    "import os\nr = os.environ[f\"HO{'STNA'}ME\"].split('-')[-1]": [LAST],
    "import os\nr = os.environ['_'.join(['POD', 'NAME'])].split('-')[-1]": [LAST],
    "r = open('/etc/ho' + 'stname').read().split('-')[-1]": [LAST],
    "r = open('/etc/ho' 'stname').read().split('-')[-1]": [LAST],
    "import os\nr = os.popen('host' + 'name').read().split('-')[-1]": [LAST],
    "import subprocess\nr = subprocess.check_output(['host' + 'name']).split(b'-')[-1]": [LAST],
    "import os\nprint(','.join(['a', 'b']), f\"{'a'!r}{'b':>9}\", os.getpid())": [],
    'exec("import socket\\nr = socket.gethostname()[-1]")': [LAST],
    "r = eval('__import__(\"socket\").gethostname()[-1]')": [LAST],
    "code = 'import os; r = os.uname()[1][-1]'\nexec(compile(code, 'x', 'exec'))": [LAST],
    "exec(b'import socket; print(socket.gethostname())')": [SHOWS],
    "exec(\"exec('import socket; r = socket.gethostname()[-1]')\")": [LAST],
    "import subprocess\nsubprocess.run(['python', '-c', 'import socket; r = socket.gethostname()[-1]'])": [LAST, LAST],
    "import os\nos.execvp('bash', ['bash', '-c', 'python t.py --rank ${HOSTNAME##*-}'])": [LAST, SHOWS],
    "import os\nos.system('torchrun t.py --rank ${HOSTNAME##*-}')": [SHOWS, LAST],
    "open('t.py', 'w').write(\"\\nimport socket\\nr = socket.gethostname()[-1]\")": [LAST],
    "open('t.sh', 'w').write('#!/bin/sh\\nRANK=${HOSTNAME##*-} python t.py')": [LAST],
    "import os\nr = os.popen('cat /etc/h*e').read()[-1]": [LAST],
    "import os\nr = os.popen('domainname').read()[-1]": [LAST],
    "import os\nx = os.popen('env | grep -i master_a').read()": [SHOWS, DECIDES],
    "r = getattr(__import__('os'), '\\x75name')()[1][-1]": [LAST],
    "r = getattr(__import__('os'), ('una'\n 'me'))()[1][-1]": [LAST],
    "def f():\n    '\\nimport socket\\nr = socket.gethostname()[-1]\\n'": [],
    "import re\nx = re.compile('hostname')\nmodel.eval()\nn = eval('3 + 4')\nexec('import math')": [],
    "p = configargparse.ArgParser(auto_env_var_prefix='')\np.add('--hostname', '--lr')": [SHOWS],
    "p = configargparse.ArgParser(auto_env_var_prefix='RUN_')\np.add('--hostname')": [],
    "class S(BaseModel):\n  model_config = dict(env_prefix='POD_')\n  lr: float = 1\n  name: str = ''": [SHOWS],
    "class S(BaseSettings):\n  class Config:\n    env_prefix = 'pod_'\n  name: str = ''": [SHOWS],
    "app = typer.Typer(context_settings={'auto_envvar_prefix': 'MASTER'})\ndef main(addr: str, lr: float): pass": [SHOWS],
    "with env.prefixed('HOST'):\n  me = env('NAME')": [SHOWS],
    "import os\nall = os.environ['MASTER_ADDR'].split(',')\nn = sum(len(one) for one in [all])": [SHOWS],
    "import json, os\nn = sum(map(len, json.loads(os.environ['MASTER_ADDR'])['cluster'].values()))": [SHOWS],
    "import os\nall = os.environ['MASTER_ADDR'].split(',')\nn = sum(hash(one) for one in all)": [DECIDES],
    "c = OmegaConf.create({'k': 'HOSTN', 'shard': '${oc.env:${k}AME}'})": [SHOWS],
    "c = OmegaConf.create({'k': 'L', 'lr': '${oc.env:${k}R}'})": [],
    "w = SummaryWriter()": [SHOWS],
    "w = SummaryWriter(log_dir=None, comment='x')": [SHOWS],
    "w = SummaryWriter('/logs')": [],
    "w = SummaryWriter(logdir='/logs')": [],
    "w = SummaryWriter(**options)": [],
    "handler = tensorboard_trace_handler('/logs')": [SHOWS],
    "handler = tensorboard_trace_handler('/logs', 'rank3')": [],
    "import socket\nprint(socket.gethostname())": [SHOWS],
    "import socket\nwandb.init(name=f'run-{socket.gethostname()}')": [SHOWS],
    "import os\nlog = {'host': os.environ['HOSTNAME'], 'loss': 1}\nprint(log['loss'])": [SHOWS],
    "import os\nh = os.uname()[1]\nprint(h)": [SHOWS],
    "import os\nos.system('hostname')": [SHOWS],
    "import os\nif os.environ.get('HOSTNAME') == '': fail()": [SHOWS],
    "import os\nprint(os.environ['MASTER_ADDR'], os.environ['RANK'])": [SHOWS],
    "import os\nassert len(os.environ['MASTER_ADDR'].split(',')) == 3": [SHOWS],
    "import os\nall = os.environ['MASTER_ADDR'].split(',')\nconnect(all[0].split(':')[0])": [SHOWS],
    "import os\nfor one in os.environ['MASTER_ADDR'].rstrip().split():\n  connect(one)": [SHOWS],
    "import os\nall = os.environ['MASTER_ADDR'].split(',')\nif all[0][-1] == '0': first()": [DECIDES],
    "import os\nfor one in os.environ['MASTER_ADDR'].split(','):\n  print(one[-1])": [LAST],
    "import os\nr = os.environ['MASTER_ADDR'].split(',').index(me)": [DECIDES],
    "import socket\nrank = int(socket.gethostname().split('-')[-1])": [LAST],
    "import os\nr = os.uname().nodename.rsplit('-', 1)[1]": [LAST],
    "from socket import gethostname as name\nh = name()\nif h.endswith('-0'): first()": [DECIDES],
    "import platform, re\nx = platform.node()\nm = re.search('worker-([0-9]+)', x)": [DECIDES],
    "open('/etc/hostname').read().strip().split('-')": [DECIDES],
    "import os\nchief = 'master' in os.environ.get('HOSTNAME', '')": [DECIDES],
    "import subprocess\nh = subprocess.check_output(['hostname']).decode()\nr = h.split('-')": [DECIDES],
    "import socket\ndef own():\n  return socket.gethostname()\nr = own().split('-')": [DECIDES],
    "import socket\nclass A:\n  def __init__(self):\n    self.h = socket.gethostname()\n  def r(self): return self.h[3:]": [
        DECIDES
    ],
    "import os\nranks.index(os.environ['POD_NAME'])": [DECIDES],
    "import os\nranks[os.environ['POD_NAME']]": [DECIDES],
    "import zlib, socket\nseed = zlib.crc32(socket.getfqdn().encode())": [DECIDES],
    "import socket\nrun(shard_index=socket.gethostname())": [DECIDES],
    "with open('/etc/hosts') as f:\n  for line in f:\n    if 'worker' in line: print(line)": [DECIDES],
    "import socket\nip = socket.gethostbyname(socket.gethostname())": [],
    "import socket\nprint socket.gethostname().split('-')": [DECIDES],
    "import os\nprint(os.environ['HOME'])": [],
    "import os\ne = os.environ.copy()\ne['RANK'] = e['HOSTNAME'].split('-')[-1]": [LAST],
    "import os\nfor k, v in os.environ.items():\n  if k.startswith('HOSTN'): shard = int(v[-1])": [LAST],
    "import os\nfor k, v in os.environ.items(): print(k, v)": [],
    "import os\nget = os.environ.get\nrank = int(get('HOSTNAME')[-1])": [LAST],
    "from os import environ as e\nshard = int(e['HOSTNAME'].split('-')[-1])": [LAST],
    "import os\ncfg = dict(os.environ)\nshard = cfg.get('HOSTNAME', '').rpartition('-')[2]": [LAST],
    "import os\nfor name in ['RANK', 'HOSTNAME']: print(os.environ[name])": [SHOWS, SHOWS],
    "from os import environ as e\nk = [x for x in e if x.startswith('HOSTN')][0]\nr = int(e[k][-1])": [LAST],
    "import os\nenv = {k.lower(): v for k, v in os.environ.items()}\nr = int(env['host' + 'name'][-1])": [SHOWS, LAST],
    "import os\nhost = 'host'.lower()\ndef get(key): return int(os.environ[key])\nrank = get('RANK')": [],
    "import os\nenv = {k: v for k, v in os.environ.items() if k.startswith('TRAIN_')}\nr = env[os.environ['WHICH']]": [],
    "import socket\nr = int(socket.getnameinfo((ip, 0), 0)[0].split('.')[0][-1])": [LAST],
    "r = int(str(resolver.resolve(reversename.from_address(ip), 'PTR')[0])[-1])": [LAST],
    "import os\nr = int(open(os.path.join('/etc', 'hostname')).read().strip()[-1])": [LAST],
    "from pathlib import Path\nr = int((Path('/etc') / 'hostname').read_text().strip()[-1])": [LAST],
    "import glob\nprint(open(glob.glob('/etc/hostn*')[0]).read())": [SHOWS],
    "import subprocess, shlex\nr = subprocess.check_output(shlex.split('hostname -s')).decode()[-1]": [LAST],
    "from torch.distributed.elastic.agent.server.api import _get_fq_hostname\nr = int(_get_fq_hostname()[-1])": [LAST],
    "import os\nr = int(os.environb[b'HOSTNAME'][-1:])": [LAST],
    "import os\nr = os.path.expandvars('$HOSTNAME').split('-')[-1]": [LAST],
    "from pydantic_settings import BaseSettings\nclass S(BaseSettings):\n  hostname: str\n  lr: float": [SHOWS],
    "from omegaconf import OmegaConf\nc = OmegaConf.create({'h': '${oc.env:HOSTNAME}', 'lr': '${oc.env:LR}'})": [SHOWS],
    "import argparse, socket\np.add_argument('--node', default=socket.gethostname())\nr = int(p.parse_args().node[-1])": [LAST],
    "import socket\nme = lambda: socket.gethostname()\nr = int(me()[-1])": [LAST],
    "import train\nr = train.hostname\nclass C:\n  hostname: str": [],
    "import os\np = os.path.join('/data', 'hostname')": [],
    "r = TFConfigClusterResolver()\nn = r.cluster_spec().num_tasks('worker')\nrank = r.task_id": [SHOWS],
    "r = TFConfigClusterResolver()\nw = r.cluster_spec().as_dict()['worker'][0]": [SHOWS],
    "r = TFConfigClusterResolver()\nrank = int(r.master().split('-')[-1])": [LAST],
    "import socket\nself.task_id = socket.gethostname()\nrank = int(self.task_id.rsplit('-', 1)[1])": [LAST],
    "import socket\nself.jobs = socket.gethostname()\nif self.jobs == 'x-master-0': first()": [DECIDES],
    "import socket\ndef task_id():\n  return socket.gethostname()\nrank = int(task_id()[-1])": [LAST],
    "import socket\np.add_argument('--environment', default=socket.gethostname())\n"
    "args = p.parse_args()\nif args.environment == 'x-master-0': first()": [DECIDES],
    "import os\np.add_argument('--node-name', '-n', default=os.environ['HOSTNAME'])\n"
    "a = p.parse_args()\nr = int(a.node_name.split('-')[-1])": [LAST],
    "import os\np.add_argument('-n', '--node', '--node-name', default=os.environ['HOSTNAME'])\n"
    "a = p.parse_args()\nr = int(a.node.split('-')[-1])": [LAST],
    "import os\np.add_argument('-n', default=os.environ['HOSTNAME'])\na = p.parse_args()\nr = int(a.n[-1])": [LAST],
    "import os\np.add_argument('--node', dest='me', default=os.environ['HOSTNAME'])\n"
    "a = p.parse_args()\nprint(a.node[-1])\nr = int(a.me.split('-')[-1])": [LAST],
    "import socket\np.add_argument('--name', default=socket.gethostname())\na = p.parse_args()\nprint(a.name)\n"
    "for q in model.modules():\n  if q.name.split('.')[0] == 'head': freeze(q)": [SHOWS],
    "import socket\np.add_argument('--name', default=socket.gethostname())\n"
    "a, rest = p.parse_known_args()\nr = int(a.name[-1])": [LAST],
    "import socket\ndef options():\n  p.add_argument('--name', default=socket.gethostname())\n  return p.parse_args()\n"
    "class A:\n  def __init__(self):\n    self.o = options()\n  def r(self):\n    return int(self.o.name[-1])": [LAST],
    "import socket\np.add_argument('--name', default=socket.gethostname())\ndef main(given):\n  return int(given.name[-1])\n"
    "main(p.parse_args())": [LAST],
    "self.resolver = TFConfigClusterResolver()\nif self.resolver.task_type == 'chief': first(self.resolver.jobs())": [SHOWS],
    "import os\nos.environ['HOSTNAME'] = 'x'\nprint('HOSTNAME')": [],
    "import socket\nme = socket.gethostname\nrank = int(me()[-1])": [LAST],
    "import socket\nprint(getattr(socket, 'gethostname')())": [SHOWS],
    "import os\nif os.uname().sysname == 'Linux': go()": [],
    "import platform\nif platform.uname()[0] == 'Linux': go()": [],
    "import platform\nshard = platform.uname().node.split('-')[-1]": [LAST],
    "import os\nhost, port = os.environ['MASTER_ADDR'].split(':')\nserve(int(port))": [SHOWS],
    "import json, os\nc = json.loads(os.environ['TF_CONFIG'])\nif c['task']['index'] == 0: first()": [SHOWS],
    "import json, os\nc = json.loads(os.environ.get('TF_CONFIG', '{}'))\nchief = c['cluster']['chief'][0]\nprint(chief)": [SHOWS],
    "import json, os\nc = json.loads(os.environ['TF_CONFIG'])\nfor role, all in c['cluster'].items():\n  ask(all[0])": [SHOWS],
    "import json, os\nc = json.loads(os.environ['TF_CONFIG'])\nrank = int(c['cluster']['worker'][0].split(':')[0][-1])": [LAST],
    "import json, os\nc = json.loads(os.environ['TF_CONFIG'])\nfor h in c['cluster']['ps']:\n  n = h.split('-')": [DECIDES],
}


def test_a_read_of_python_stands_where_it_is_written() -> None:
    code = "import socket\n\nh = socket.gethostname()\nr = h[-1]\n"
    assert [code[read.start :][:20] for read in python_reads.reads(code, KNOWN, shell_reads.reads)] == ["socket.gethostname()"]


@pytest.mark.parametrize("text", PYTHON)
def test_python_reads(text: str) -> None:
    assert kinds_of(python_reads.reads(text, KNOWN, shell_reads.reads)) == PYTHON[text]
