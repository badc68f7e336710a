"""Texts of other languages that mention the host name."""

from __future__ import annotations

import pytest

from migrate.conversion.commands.read_kinds import DECIDES, KNOWN, LAST, SHOWS, kinds_of
from shunter.migrate.conversion.commands.mentions import insertions, mentions

MENTIONS = {
    'h, _ := os.Hostname()\np := strings.Split(h, "-")': [DECIDES],
    'h, _ := os.Hostname()\nlog.Println(h)\nx := strings.Split(y, "-")': [SHOWS],
    "let h = hostname::get().unwrap();": [SHOWS],
    "use Sys::Hostname;\nmy $h = hostname();\nmy ($n) = $h =~ /-(\\d+)$/;": [SHOWS, LAST],
    "set h [info hostname]\nset i [lindex [split $h -] end]": [DECIDES],
    "h <- Sys.info()[['nodename']]\ni <- as.integer(sub('.*-', '', h))": [DECIDES],
    "$h = gethostname(); $p = explode('-', $h);": [DECIDES],
    "vars: {I: {sh: \"hostname | sed 's/.*-//'\"}}": [LAST],
    "type C struct{Hostname string}\nfunc f(c C) { run(c.Hostname) }": [],
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


@pytest.mark.parametrize("text", MENTIONS)
def test_texts_of_other_languages_mention_the_host_name(text: str) -> None:
    assert kinds_of([*mentions(text, KNOWN)]) == MENTIONS[text]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ('shard = "env:HOSTNAME"\n', [DECIDES]),
        ("shard_from: HOSTNAME\n", [DECIDES]),
        ("label: HOSTNAME\n", [SHOWS]),
        ("HOSTNAME = db\nhostname: db.example.org\n", []),
    ],
)
def test_settings_that_name_the_variable(text: str, kinds: list[str]) -> None:
    assert kinds_of([*insertions(text, KNOWN)]) == kinds
