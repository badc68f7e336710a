"""Rules that all kinds share: a module a rule, each with `apply(draft)` and the topics that it tells.

Applied in the order of `ORDER`, after the kind's module has arranged the groups. A rule changes the draft and accounts for the
fields that it takes; it does not look at what other rules made of theirs.
"""

from __future__ import annotations

from collections.abc import Callable

from shunter.migrate.draft import Draft
from shunter.migrate.rules import metadata, pod_template, restart_policy, suspend

Rule = Callable[[Draft], None]
ORDER: tuple[Rule, ...] = (
    metadata.apply,
    suspend.apply,
    restart_policy.apply,
    pod_template.apply,
)
