"""Where shell and Python take values of their pod, and whether they decide by them."""

from __future__ import annotations

import pytest

from shunter.migrate.conversion.launch import python_reads, shell_reads
from shunter.migrate.conversion.launch.encoded import decodes
from shunter.migrate.conversion.launch.mentions import mentions
from shunter.migrate.conversion.launch.reads import Read, is_rank

KNOWN = {"HOSTNAME": "host name", "POD_NAME": "POD_NAME", "MASTER_ADDR": "MASTER_ADDR", "TF_CONFIG": "TF_CONFIG"}
SHOWS, DECIDES, LAST = "shows", "decides", "takes the last number"

SHELL = {
    "echo $HOSTNAME": [SHOWS],
    "mkdir -p /logs/$HOSTNAME && python t.py > /logs/$HOSTNAME/out.log": [SHOWS, SHOWS],
    "cat <<EOF > /tmp/c\nhost: $HOSTNAME\nEOF": [SHOWS],
    "python report.py --name $HOSTNAME": [SHOWS],
    '[ -z "$HOSTNAME" ] && exit 1': [SHOWS],
    "sed -i s/HERE/$HOSTNAME/ run.conf": [SHOWS],
    "cat /etc/hostname": [SHOWS],
    "RANK=${HOSTNAME##*-} python train.py": [LAST],
    "python t.py --rank ${HOSTNAME##*-}": [LAST],
    "torchrun --node_rank=${HOSTNAME: -1} t.py": [DECIDES],
    "python t.py --shard-id $HOSTNAME": [DECIDES],
    "export NODE_RANK=$HOSTNAME": [DECIDES],
    "H=$(hostname); R=${H##*-}": [SHOWS, LAST],
    "ID=$HOSTNAME; if [[ $ID == *-0 ]]; then :; fi": [SHOWS, DECIDES],
    'if [ "$(hostname)" = bert-master-0 ]; then :; fi': [DECIDES],
    "[[ $HOSTNAME =~ -([0-9]+)$ ]] && echo first": [LAST],
    "case $HOSTNAME in\n *master*) echo first;;\nesac": [DECIDES],
    "I=$(hostname -s | cut -d- -f3)": [DECIDES],
    "I=$(uname -n | sed 's/.*-//')": [LAST],
    "I=$(cat /proc/sys/kernel/hostname | awk -F- '{print $NF}')": [LAST],
    "cut -d- -f3 <<< $HOSTNAME": [DECIDES],
    'IFS=- read -ra PARTS <<< "$HOSTNAME"': [DECIDES],
    "read -r H < /etc/hostname; R=${H#bert-}": [SHOWS, DECIDES],
    "R=$((${HOSTNAME##*-} + 1))": [DECIDES],
    "echo $HOSTNAME | tr -dc 0-9": [DECIDES],
    "hostname | grep master": [DECIDES],
    "grep worker /etc/hosts": [DECIDES],
    "echo 1.2.3.4 x >> /etc/hosts": [],
    'grep -q "$(hostname)" /etc/hosts || echo "127.0.0.1 $(hostname)" >> /etc/hosts': [SHOWS, SHOWS],
    'grep -qw "$HOSTNAME" /etc/hosts || { echo "127.0.0.1 ${HOSTNAME}" >> /etc/hosts; }': [SHOWS, SHOWS],
    'grep -w "$HOSTNAME$" /etc/hosts >/dev/null 2>&1 || echo "127.0.0.1 $HOSTNAME" | tee -a /etc/hosts': [SHOWS] * 3,
    'if ! grep -q "$HOSTNAME" /etc/hosts; then\n  echo "127.0.0.1 $HOSTNAME" >> /etc/hosts\nfi': [SHOWS, SHOWS],
    "grep -q db.example.org /etc/hosts || echo 10.0.0.5 db.example.org >> /etc/hosts": [],
    "grep -q worker /etc/hosts || echo 10.0.0.5 worker >> /etc/hosts": [DECIDES],
    "grep -q minio /etc/hosts || echo 10.0.0.5 store >> /etc/hosts": [DECIDES],
    'grep "$HOSTNAME" /etc/hosts || echo "127.0.0.1 $HOSTNAME" >> /etc/hosts': [DECIDES, DECIDES, SHOWS],
    'grep -q "$HOSTNAME" /etc/hosts || export RANK=1': [DECIDES, DECIDES],
    'grep -q "$HOSTNAME" /etc/hosts && echo "127.0.0.1 $HOSTNAME" >> /etc/hosts': [DECIDES, DECIDES, SHOWS],
    'if ! grep -q "$HOSTNAME" /etc/hosts; then echo "::1 $HOSTNAME" >> /etc/hosts; R=1; fi': [DECIDES, DECIDES, SHOWS],
    'grep -q "$HOSTNAME" /etc/hosts || { echo "::1 $HOSTNAME" >> /etc/hosts; R=1; }': [DECIDES, DECIDES, SHOWS],
    'grep -q "$HOSTNAME" /etc/hosts || echo "127.0.0.1 $HOSTNAME" > /etc/hosts': [DECIDES, DECIDES, SHOWS],
    'grep -q "${HOSTNAME##*-}" /etc/hosts || echo "::1 ${HOSTNAME##*-}" >> /etc/hosts': [LAST, LAST],
    'grep -q "$HOSTNAME" /etc/hosts || echo "::1 $HOSTNAME" >> /etc/hosts\nR=$(grep -n $HOSTNAME /etc/hosts)': [
        SHOWS,
        SHOWS,
        DECIDES,
    ],
    "N=${MASTER_ADDR%-master-0}": [DECIDES],
    "FIRST=${MASTER_ADDR%%,*}; PORT=${MASTER_ADDR##*:}": [SHOWS, SHOWS],
    "echo $MASTER_ADDR | cut -d, -f1": [SHOWS],
    "for one in $(echo $MASTER_ADDR | tr ',' ' '); do ping $one; done": [SHOWS, SHOWS],
    'IFS=, read -ra ALL <<< "$MASTER_ADDR"': [SHOWS],
    'IFS=, read -ra ALL <<< "$MASTER_ADDR"; N=${ALL%-0}': [SHOWS],
    "for one in ${MASTER_ADDR//,/ }; do [ $one = bert-master-0 ] && first; done": [SHOWS, DECIDES],
    "echo $MASTER_ADDR | cut -d- -f1": [DECIDES],
    "hostname -i": [],
    "hostname bert": [],
    "IP=$(getent hosts $HOSTNAME | awk '{print $1}')": [SHOWS],
    "echo $(POD_NAME)": [SHOWS],
    "dnsdomainname": [SHOWS],
    "hostname -f | tail -c 2": [DECIDES],
    "printenv HOSTNAME": [SHOWS],
    "R=$(printenv HOSTNAME | sed 's/.*-//')": [LAST],
    "printenv PATH": [],
    "env | grep HOSTNAME | cut -d- -f3": [DECIDES],
    "R=$(env | sed -n 's/^HOSTNAME=.*-//p')": [DECIDES],
    "env | sort": [],
    "export -p | grep HOSTNAME | cut -d- -f3": [DECIDES],
    "declare -p | sed -n 's/.*HOSTNAME=.*-//p'": [DECIDES],
    "export HOSTNAME; python t.py": [],
    "env FOO=1 python t.py | tee log": [],
    "python3 -u -c 'import socket; print(socket.gethostname())'": [SHOWS],
    "mpirun -np 2 python -c \"import os; r = int(os.environ['HOSTNAME'][-1])\"": [LAST],
    "R=$(python3 -c \"import socket; print(socket.gethostname().split('-')[-1])\") python t.py": [LAST],
    "bash -c 'echo hostname'; python t.py -c gethostname": [],
    "HOSTNAME=fixed; R=${HOSTNAME##*-}": [],
    "$( ${ `": [],
    "R=$(perl -MSys::Hostname -e 'hostname =~ /([0-9]+)$/ and print $1')": [LAST],
    "perl -e 'use Sys::Hostname; print((split /-/, hostname)[-1])'": [LAST],
    "perl -e 'print((split /-/, $ENV{HOSTNAME})[-1])'": [LAST],
    'S=$(awk \'BEGIN{n=split(ENVIRON["HOSTNAME"],a,"-"); print a[n]}\')': [DECIDES],
    "ruby -rsocket -e 'puts Socket.gethostname[/[0-9]+$/]'": [LAST],
    "node -e 'console.log(require(\"os\").hostname())'": [SHOWS],
    "node -e 'console.log(os.hostname())'": [SHOWS],
    "echo 'import socket; print(socket.gethostname()[-1])' | python": [LAST],
    "echo 'HOSTNAME tells who I am'": [],
    "ruby <<'END'\nputs ENV['HOSTNAME'].split('-')[-1]\nEND": [LAST],
    "jq -n 'env.HOSTNAME'": [SHOWS],
    "env > /tmp/env\nI=$(grep ^HOSTNAME /tmp/env | rev | cut -c1)": [LAST],
    "env > /tmp/env; . /tmp/env": [],
    "tr '\\0' '\\n' < /proc/1/environ | sed -n 's/^HOSTNAME=.*-//p'": [DECIDES, DECIDES],
    "uname -n > /tmp/me\npython t.py --part $(sed 's/.*-//' /tmp/me)": [SHOWS, LAST],
    "hostname | tee /tmp/me; cat /tmp/me": [SHOWS],
    "hostname | tail -c 2 > /tmp/i; R=$(cat /tmp/i) python t.py": [DECIDES, DECIDES],
    "hostname | while IFS=- read a b n; do run --shard $n; done": [SHOWS, DECIDES],
    "v=HOSTNAME; me=${!v}; R=${me##*-}": [SHOWS, LAST],
    "for v in $(compgen -e); do [[ $v == HOST* ]] && me=${!v}; done; R=${me: -1}": [DECIDES, DECIDES, SHOWS, DECIDES],
    "set -- ${HOSTNAME//-/ }; R=$3": [DECIDES],
    "IFS=- parts=($HOSTNAME); run --shard ${parts[-1]}": [SHOWS, LAST],
    "names=($HOSTNAME other); echo ${names[0]}": [SHOWS, SHOWS],
    "[[ $(</etc/hostname) =~ -([0-9]+)$ ]] && go": [LAST],
    "run --seed $(hostname | cksum)": [DECIDES],
    "uname -a | grep x86_64": [SHOWS],
    "uname -a": [SHOWS],
    'eval "R=\\${HOSTNAME##*-}"': [LAST],
    "cat /etc/hostn?me": [SHOWS],
    "cat /etc/*-release /etc/host.conf; ls /etc/*": [],
    'cut -d- -f3 < /etc/"hostname"': [DECIDES],
    "me() { hostname -s; }\nR=$(me); S=${R##*-}": [SHOWS, SHOWS, LAST],
    'last() { local s=$1; echo "${s##*-}"; }\nlast $HOSTNAME; last $USER': [DECIDES],
    "echo $HOSTNAME ${": [SHOWS],
    "export RANK=${HOSTNAME##*-}; echo ${} ${": [LAST],
    'twice() { echo "$1 $1"; }\ntwice $HOSTNAME': [SHOWS],
    'last() {\n  # don\'t ask }\n  echo "${1##*-}"\n}\nlast $HOSTNAME': [DECIDES],
    "R=$(set | grep -i ^hostn | cut -d- -f3)": [DECIDES],
    "set | grep ^hostn": [],
    "python t.py rank=$HOSTNAME name=$HOSTNAME": [DECIDES, SHOWS],
    "echo starts rank=$HOSTNAME": [SHOWS],
    "mapfile -d- -t p < /etc/hostname; R=${p[-1]}": [SHOWS, LAST],
    "printf -v me %s $HOSTNAME; R=${me: -1}": [SHOWS, DECIDES],
    "echo 'rank: {{ HOSTNAME }}' | j2 - > c.yaml": [SHOWS],
    "awk 'BEGIN{for (k in ENVIRON) if (k ~ /^HOSTN/) {n=split(ENVIRON[k],p,\"-\"); print p[n]}}'": [DECIDES],
    "awk 'BEGIN{for (k in ENVIRON) print k}'": [],
    "perl -MPOSIX -e '(POSIX::uname())[1] =~ /(\\d+)$/ and print $1'": [LAST],
    "nslookup $POD_IP | awk '/name =/{print $4}' | cut -d- -f3": [DECIDES],
    "trap 'mv /out /done/$(hostname)' EXIT": [SHOWS],
    "echo 'R=${HOSTNAME##*-}' > /work/run.sh": [LAST],
    'echo "hi $USER" > /work/log': [],
    "for h in $(cut -d' ' -f1 /etc/mpi/hostfile); do r=${h##*-}; done": [SHOWS, LAST],
    "mpirun -np $(wc -l < /etc/mpi/hostfile) --hostfile /etc/mpi/hostfile python t.py": [SHOWS, SHOWS],
    "PS=$(python -c \"import os, json; print(','.join(json.loads(os.environ['TF_CONFIG'])['cluster']['ps']))\")": [SHOWS],
    'T=$(echo $TF_CONFIG | sed \'s/.*"type":"\\([a-z]*\\)".*/\\1/\')': [SHOWS],
    "idx=$(jq -r .task.index <<< $TF_CONFIG); python t.py --index $idx": [SHOWS],
    'idx=$(echo $TF_CONFIG | python -c \'import json, sys; print(json.load(sys.stdin)["task"]["index"])\')': [SHOWS],
    "f=$(jq -r '.cluster.ps[0]' <<< $TF_CONFIG)\npython t.py --index 1 --job ${f%%-ps-*}": [SHOWS, DECIDES],
    "seq 2 | xargs -I{} bash -c 'python t.py --rank ${HOSTNAME##*-}'": [LAST],
    "su train -c \"python -c 'import socket; r = socket.gethostname()[-1]'\"": [LAST],
    "echo 'export RANK=${HOSTNAME##*-}' | bash": [LAST],
    "su train -c 'python t.py --shard $SHARD'": [],
    "first=$(jq -r '.cluster.worker[0]' <<< $TF_CONFIG); job=${first%%-worker-*}": [SHOWS, DECIDES],
}
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


MENTIONS = {
    'const p = parse(hostname).split("-")': [],
    'const p = (hostname) => hostname.split("-")': [],
    'if (hostname) p = url.split("-")': [],
    "p = by[0](hostname)[0]": [],
    "set p (hostname | string split -); python t.py --rank $p[-1]": [LAST],
    "set p (string split - (hostname -s)); echo $p[-1]": [LAST],
    "python t.py --rank (uname -n)[-1]": [LAST],
    "RANK := $(shell hostname | cut -d- -f3)": [DECIDES],
    "p = `hostname`.split('-')[0]": [DECIDES],
    "local h = io.popen('hostname'):read('*l'); run(h:match('%d+$'))": [DECIDES],
    "local h = io.popen('hostname'):read('*l')": [SHOWS],
    "const part = execSync('uname -n').toString().split('-').pop()": [DECIDES],
    "my $r = (split /-/, qx(hostname))[-1];": [LAST],
    "r = %x(hostname)[/[0-9]+$/]": [LAST],
    'rank <- as.integer(sub(".*-", "", Sys.info()[["nodename"]]))': [DECIDES],
    'part <- as.integer(str_extract(system("hostname", intern = TRUE), "[0-9]+$"))': [LAST],
    "exec(hostname, port); run('hostname.sh')": [],
}


def _said(found: list[Read]) -> list[str]:
    return [LAST if read.takes_last_number else DECIDES if read.decides else SHOWS for read in found]


@pytest.mark.parametrize("text", SHELL)
def test_shell_text_reads(text: str) -> None:
    assert _said(shell_reads.reads(text, KNOWN)) == SHELL[text]


@pytest.mark.parametrize("text", PYTHON)
def test_python_reads(text: str) -> None:
    assert _said(python_reads.reads(text, KNOWN, shell_reads.reads)) == PYTHON[text]


@pytest.mark.parametrize("text", MENTIONS)
def test_texts_of_other_languages_mention_the_host_name(text: str) -> None:
    assert _said([*mentions(text, KNOWN)]) == MENTIONS[text]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("".join(f"f{n}() {{\n  local a=$1\n  mkdir -p /out/$a\n}}\n" for n in range(3000)), id="in-a-row"),
        pytest.param("".join(f"f{n}() {{\n echo $1\n" for n in range(500)) + "}\n" * 500, id="nested"),
        pytest.param("f() { echo $1\n" * 1000, id="never-closed"),
    ],
)
def test_thousands_of_functions_are_read_in_seconds(text: str) -> None:
    """Each is looked at as often as it is nested, at most. Work that grows with the square would take this test minutes."""
    assert _said(shell_reads.reads(f"{text}\nexport RANK=${{HOSTNAME##*-}}", KNOWN))[-1] == LAST


def test_a_line_that_says_base64_a_hundred_thousand_times_is_searched_in_seconds() -> None:
    """Work that grows with the square would take this test minutes."""
    assert not decodes("base64 x " * 100_000)
    assert decodes("base64 x " * 100_000 + "-d")


@pytest.mark.parametrize(
    "text", ["base64 -d", "base64 -w 0 --decode", "base64 base64.txt -id", "base64 <<< " + "A" * 9000 + " -d"]
)
def test_text_that_decodes_base64(text: str) -> None:
    assert decodes(text)


def test_a_read_stands_where_it_is_written() -> None:
    text = "set -e\nexport R=${HOSTNAME##*-}\n"
    assert [text[read.start :][:18] for read in shell_reads.reads(text, KNOWN)] == ["${HOSTNAME##*-}\n"]
    code = "import socket\n\nh = socket.gethostname()\nr = h[-1]\n"
    assert [code[read.start :][:20] for read in python_reads.reads(code, KNOWN, shell_reads.reads)] == ["socket.gethostname()"]


@pytest.mark.parametrize(
    "name",
    [
        "RANK",
        "NODE_RANK",
        "--node-rank",
        "machine_rank",
        "shard",
        "--shard-index",
        "task_id",
        "worker_id",
        "IDX",
        "shard_from",
        "rank-by",
        "shardKey",
    ],
)
def test_name_of_a_rank(name: str) -> None:
    assert is_rank(name)


@pytest.mark.parametrize(
    "name",
    ["--name", "OUTPUT", "JOB", "--run-id", "franking", "PIDS", "--log-dir", "hosts", "shard_dir", "rank_log", "partition_key"],
)
def test_name_of_no_rank(name: str) -> None:
    assert not is_rank(name)
