"""The end of tasks whose results are not needed."""

from __future__ import annotations

import asyncio

from shunter.cancelling import cancelled


async def test_all_tasks_have_ended_when_it_returns_whatever_they_fail_with() -> None:
    cleaned: list[str] = []

    async def slow_to_end() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append("slow")

    async def fails() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("in the end")

    async def done() -> None:
        return

    tasks = [asyncio.create_task(one) for one in (slow_to_end(), fails(), done())]
    await asyncio.sleep(0)
    await cancelled(tasks)
    assert cleaned == ["slow"]
    assert [task.done() for task in tasks] == [True] * 3
    await cancelled([])
