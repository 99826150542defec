"""What a command works with: the store that it reads and fills, and the executor that computes for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from cluster.cli.options import ExecutorName

if TYPE_CHECKING:
    from cluster.executor import Executor
    from cluster.store import Store


def open_the_store(stack: ExitStack) -> Store:
    """The store that the settings name, closed with the stack."""
    from cluster.redis_store import open_store
    from cluster.settings import load_settings

    return stack.enter_context(open_store(load_settings()))


def make_executor(name: ExecutorName, workers: int | None) -> Executor:
    """The executor of this name; imports Ray only where it is wanted."""
    if name is ExecutorName.INLINE:
        from cluster.executor import InlineExecutor

        return InlineExecutor()
    from cluster.ray_executor import RayExecutor
    from cluster.settings import load_settings

    return RayExecutor(workers, load_settings().ray_address)


def executor_starter(stack: ExitStack, name: ExecutorName, workers: int | None) -> Callable[[], Executor]:
    """One executor, started when it is first asked for, closed with the stack."""
    made: list[Executor] = []

    def start() -> Executor:
        if not made:
            made.append(make_executor(name, workers))
            stack.callback(made[0].close)
        return made[0]

    return start
