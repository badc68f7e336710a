"""What rules may cost: the numbers are those that apiextensions-apiserver 1.36 computes."""

from __future__ import annotations

import pytest

from cluster.apiserver.schema.typecheck.spec import SPEC
from shunter.cluster.apiserver.schema.typecheck.rules import compiled_rule
from shunter.cluster.apiserver.schema.typecheck.schemas import declared


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        ("self.names.all(n, n.startsWith('a') && n.endsWith('b'))", 73),
        ("self.names.filter(n, n != 'a').size() > 1", 165),
        ("self.labels.map(k, self.labels[k]).exists(v, v.matches('a+'))", 234),
        ("self.name.split(',').all(x, x.trim().size() > 1)", 499),
        ("self.name.replace('', 'abc') == 'x'", 19),
        ("self.name.replace('abc', 'a').size() > 2", 20),
        ("self.numbers.sum() + self.numbers.max() > 2", 26),
        ("self.name.indexOf('a') > 1", 11),
        ("{'a': self.name}.all(k, k.contains('z'))", 37),
        ("(self.active ? self.name : 'x').contains('a')", 12),
        ("self.names.sortBy(n, n.size())[0] == 'x'", 377),
        ("self.labels[?'a'].optMap(x, x + 'b').hasValue()", 1844674407370955285),
        ("self.items.all(i, x, self.items.exists(j, j.key == x.key && i > 1))", 1463),
        ("self.names.transformMap(i, n, n + 'b').all(k, v, v.contains('a'))", 164),
        ("sets.intersects(self.names, ['a'])", 23),
        ("cidr(self.name).containsCIDR(self.name) || cidr(self.name).ip() == ip(self.name) || isIP(self.name)", 59),
        ("quantity(self.name) == quantity('1') && quantity(self.name).add(quantity('2')).isInteger()", 25),
        ("url(self.name).getHost().contains('a')", 1844674407370955275),
        ("format.dns1123Label() == format.dns1123Label()", 9),
        ("self.name.find('a+') == 'x' && self.name.findAll('b').size() > 1", 25),
        ("string(self.data).contains('x')", 629148),
        ("strings.quote(self.name).contains('x')", 27),
        ("self.when < timestamp('2020-01-01T00:00:00Z') && self.wait > duration('1h') && self.when.getHours() > 1", 12),
        ("type(self.when) == google.protobuf.Timestamp", 4),
        ("self.sub == self.sub && self.items == self.items && self.labels == self.labels && self == self", 16),
        ("dyn(self.name) == 'a' && dyn(self.names).all(x, x == 1)", 48),
        ("self.names.exists_one(n, n == 'a') && self.names.existsOne(i, n, n == 'a')", 88),
        ("self.names.map(x, self.names.map(y, x + y)).all(z, z.all(w, w.contains('a')))", 2514),
        ("[self.names, self.names].flatten().all(x, x.contains('a'))", 36),
        ("self.names.distinct().reverse().sort().all(x, x.contains('b'))", 61336),
        ("lists.range(10).map(x, x * 2).sum() > 1", 183),
        ("optional.of(self.name).or(optional.none()).value().contains('a')", 1844674407370955270),
        ("self.port == 1 || string(self.port) == 'x' || self.port.contains('a')", 629154),
    ],
)
def test_a_rule_costs_what_the_original_estimates(rule: str, cost: int) -> None:
    self_type = declared(SPEC, is_resource=False)
    assert self_type is not None
    compiled = compiled_rule({"rule": rule}, self_type)
    assert (compiled.fault, compiled.cost) == ("", cost)
