"""`gammonfarm serve`, `gammonfarm worker`, `gammonfarm tokens`: running a farm."""

from __future__ import annotations

import enum
import socket
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cluster.cli.options import JsonOption, check_workers, is_given, print_json

if TYPE_CHECKING:
    from cluster.profiles import ProfilePart


class ServePart(enum.Enum):
    """What of a farm runs in this process."""

    ALL = "all"
    API = "api"
    FARM = "farm"


class FarmExecutor(enum.Enum):
    """Where tasks run."""

    RAY = "ray"
    INLINE = "inline"


class TokenRole(enum.Enum):
    """What a token allows."""

    SUBMIT = "submit"
    OPERATE = "operate"


ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME|FILE",
        help="Settings of a farm: local, lan, kuberay, or FILE.toml. The environment and options beside it win.",
    ),
]

tokens = typer.Typer(name="tokens", help="Tokens of the HTTP API.", no_args_is_help=True)


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where the API listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=1, max=65535, help="Of the API.")] = 8765,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Workers on this machine; default: one per core.")
    ] = None,
    ray_port: Annotated[
        int, typer.Option("--ray-port", metavar="N", min=1, max=65535, help="Where worker machines join.")
    ] = 6379,
    node_address: Annotated[
        str | None,
        typer.Option("--node-address", metavar="ADDRESS", help="This machine's address as other machines see it."),
    ] = None,
    executor: Annotated[
        FarmExecutor, typer.Option("--executor", help="ray, or inline: one worker in the coordinator's process.")
    ] = FarmExecutor.RAY,
    part: Annotated[
        ServePart, typer.Option("--part", help="all, or one part of it: api, or farm (Ray and coordinator).")
    ] = ServePart.ALL,
    profile: ProfileOption = None,
) -> None:
    """Start the farm, or join the one that the settings name: the HTTP API, Ray and the coordinator.

    Parts that die are started again. Ctrl-C ends all; jobs are kept and go on at the next start.
    """
    from cluster.farm.supervisor import RAY_ENDS, Supervisor, is_free, part_command, stop_on_signals
    from cluster.logs import start_logging
    from cluster.profiles import ProfilePart
    from cluster.service.server import check_exposure, serve_api, tokens_of_environment
    from cluster.settings import load_settings
    from engine.errors import InputError

    chosen = _profiled(context, profile, ProfilePart.SERVE)
    host, port, ray_port = chosen.get("host", host), chosen.get("port", port), chosen.get("ray_port", ray_port)
    workers, node_address = chosen.get("workers", workers), chosen.get("node_address", node_address)
    check_workers(workers)
    settings = load_settings()
    start_logging()
    stop = stop_on_signals()
    if part is ServePart.API:
        serve_api(settings, host, port, stop)
        return
    if part is ServePart.FARM:
        from cluster.cli.serve_farm import run_farm

        run_farm(settings, executor is FarmExecutor.INLINE, workers, ray_port, node_address, stop)
        return
    check_exposure(host, tokens_of_environment())
    if not is_free(host, port):
        raise InputError("port", port, "a free one: something listens there, perhaps another `gammonfarm serve`")
    makes_ray = executor is FarmExecutor.RAY and settings.ray_address is None
    if makes_ray and not is_free("", ray_port):
        print(f"gammonfarm: waiting for port {ray_port}, where something listens or is ending", file=sys.stderr)
        if not is_free("", ray_port, RAY_ENDS):
            raise InputError("ray-port", ray_port, "a free one: something listens there, perhaps a farm or a Redis")
    common = [f"--executor={executor.value}", f"--ray-port={ray_port}"]
    common += [f"--workers={workers}"] if workers is not None else []
    common += [f"--node-address={node_address}"] if node_address else []
    parts = {
        "api": part_command("api", [f"--host={host}", f"--port={port}"]),
        "farm": part_command("farm", common),
    }
    # All addresses are none that a client could use.
    shown = (node_address or socket.gethostname()) if host in ("0.0.0.0", "::") else host
    url = f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
    print(f"gammonfarm: clients set GAMMONFARM_URL={url}; Ctrl-C ends the farm", file=sys.stderr)
    code = Supervisor(parts).run(stop)
    if code:
        raise typer.Exit(code)


def worker(
    context: typer.Context,
    address: Annotated[str, typer.Option("--address", metavar="HOST[:PORT]", help="Where `gammonfarm serve` runs.")],
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Workers on this machine; default: one per core.")
    ] = None,
    node_address: Annotated[
        str | None,
        typer.Option("--node-address", metavar="ADDRESS", help="This machine's address as other machines see it."),
    ] = None,
    profile: ProfileOption = None,
) -> None:
    """Let this machine work for a farm until Ctrl-C.

    It needs the same gammonfarm installed, and a copy of the farm's ray.token: in its data folder, or where
    RAY_AUTH_TOKEN_PATH says.
    """
    from cluster.cli.serve_farm import run_worker
    from cluster.farm.supervisor import stop_on_signals
    from cluster.logs import start_logging
    from cluster.profiles import ProfilePart
    from cluster.settings import load_settings

    chosen = _profiled(context, profile, ProfilePart.WORKER)
    workers, node_address = chosen.get("workers", workers), chosen.get("node_address", node_address)
    check_workers(workers)
    start_logging()
    run_worker(load_settings(), address, workers, node_address, stop_on_signals())


def _profiled(context: typer.Context, name: str | None, part: ProfilePart) -> dict[str, Any]:
    """Set what a profile sets, and return its options that don't stand on the command line."""
    from cluster.profiles import load_profile

    if name is None:
        return {}
    profile = load_profile(name)
    profile.apply()
    return {option: value for option, value in profile.options[part].items() if not is_given(context, option)}


@tokens.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose token: letters, digits, - . _")],
    role: Annotated[
        TokenRole, typer.Option("--role", help="submit, or operate: also the jobs of others.")
    ] = TokenRole.SUBMIT,
    json: JsonOption = False,
) -> None:
    """Make a token: it is printed once; the line goes into the file that GAMMONFARM_TOKENS_FILE names."""
    from cluster.service.auth import Role, new_token
    from cluster.service_models import NewToken

    token, line = new_token(name, Role(role.value))
    if json:
        print_json(NewToken(name=name, role=role.value, token=token, line=line))
        return
    print("token, for GAMMONFARM_TOKEN or a file of GAMMONFARM_TOKEN_FILE of the client:", file=sys.stderr)
    print(token)
    print("line for the farm's GAMMONFARM_TOKENS_FILE:", file=sys.stderr)
    print(line, file=sys.stderr)
