"""What `gammonfarm serve --part farm` and `gammonfarm worker` do."""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import TYPE_CHECKING

from engine.errors import GammonfarmError, InfrastructureError

if TYPE_CHECKING:
    from cluster.ray_host import RayNode
    from cluster.settings import Settings

log = logging.getLogger(__name__)


def run_farm(
    settings: Settings,
    inline: bool,
    workers: int | None,
    ray_port: int,
    node_address: str | None,
    stop: threading.Event,
) -> None:
    """Ray, where none is configured, and the coordinator on it; or a coordinator that works itself.

    Raises:
        InfrastructureError: they have broken down.
    """
    if inline:
        from cluster.farm.host import host_farm
        from cluster.farm.pool import InlinePool

        host_farm(settings, InlinePool, stop)
        return
    from cluster import ray_host
    from cluster.farm.supervisor import RAY_ENDS, is_free
    from cluster.redis_ledger import open_ledger

    ended: list[GammonfarmError] = []
    with contextlib.ExitStack() as stack:
        # The embedded server must be up, and stay, before the coordinator asks for it.
        stack.enter_context(open_ledger(settings))
        address = settings.ray_address
        if address is None:
            ray_host.use_token(settings, make=True)
            if not is_free("", ray_port, RAY_ENDS):
                raise InfrastructureError(f"something listens on port {ray_port}, where Ray would: see --ray-port")
            head = ray_host.RayNode(ray_host.head_arguments(ray_port, workers, node_address), settings)
            stack.callback(head.close)
            address = f"{node_address or ray_host.own_address()}:{ray_port}"
            _watch(head, stop, ended)
        else:
            ray_host.use_token_where_one_is(settings)
        if settings.ray_address is not None and not ray_host.has_node_here(address):
            # Ray lets only its own machines in: this one joins without workers.
            node = ray_host.RayNode(ray_host.node_arguments(address, 0, node_address), settings)
            stack.callback(node.close)
            _watch(node, stop, ended)
        try:
            ray_host.join(address, stop)
            log.info("the farm runs on Ray at %s", address)
            ray_host.watch_coordinator(settings, stop)
        except InfrastructureError:
            if not ended:  # else what ended says more
                raise
        if ended:
            raise ended[0]
        if settings.ray_address is None:
            ray_host.stop_coordinator()


def run_worker(
    settings: Settings, address: str, workers: int | None, node_address: str | None, stop: threading.Event
) -> None:
    """A node that joins the farm at an address.

    Raises:
        InputError: an address that is none. InfrastructureError: the farm is away.
    """
    from cluster import ray_host

    head = address if ":" in address else f"{address}:{ray_host.PORT}"
    ray_host.use_token(settings, make=False)
    ray_host.check_reachable(head)
    node = ray_host.RayNode(ray_host.node_arguments(head, workers, node_address), settings)
    log.info("this machine joins %s; `gammonfarm status` of the farm shows its workers", head)
    try:
        node.wait(stop)
    finally:
        node.close()


def _watch(node: RayNode, stop: threading.Event, ended: list[GammonfarmError]) -> None:
    """Stop when a node ends by itself, which is noted."""

    def look() -> None:
        try:
            node.wait(stop)
        except GammonfarmError as error:
            ended.append(error)
            stop.set()

    threading.Thread(target=look, name="ray node", daemon=True).start()
