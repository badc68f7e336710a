"""`--first-cases`: of a parametrized test runs the first case only, which is enough to see that another Python runs it."""

from __future__ import annotations

import pytest


class FirstCases:
    """Leaves out all other cases of those that are asked for."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        first: dict[str, pytest.Item] = {}
        for item in items:
            first.setdefault(item.nodeid.partition("[")[0], item)
        kept = set(first.values())
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--first-cases", action="store_true", help="of a parametrized test run the first case only")


def register(config: pytest.Config) -> None:
    if config.getoption("first_cases"):
        config.pluginmanager.register(FirstCases())
