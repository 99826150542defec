"""Fill the disk under a farm at work, make room again, and see that no accepted job was lost.

    sudo python -m scripts.full_disk

Needs root (mount) and Linux. The data folder lies on a small file system in memory.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from scripts.chaos import end_in_order, free_port, new_home, shared_kernels
from scripts.load import question, wait_until_warm

_SIZE = 48


@contextlib.contextmanager
def small_disk(home: Path) -> Iterator[Path]:
    """A folder of so many megabytes, as data folder."""
    folder = home / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SIZE}m,mode=700", "tmpfs", str(folder)], check=True)
    try:
        if (home / "bearoff").exists():
            (folder / "bearoff").symlink_to(home / "bearoff")
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(file: Path) -> None:
    """Write until nothing more goes."""
    with contextlib.suppress(OSError), file.open("wb", buffering=0) as out:
        while True:
            out.write(bytes(1 << 16))


def main() -> int:
    """Run it; exit code 1 when an accepted job was lost, or the state was not told."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=200, help="before the disk is full")
    options = parser.parse_args()
    end_in_order()

    from cluster.client import Client
    from cluster.store import JobState
    from engine.errors import InfrastructureError

    home, port = new_home("full-disk"), free_port()
    with small_disk(home) as folder, (home / "serve.log").open("wb") as log:
        environment = os.environ | shared_kernels() | {"GAMMONFARM_HOME": str(folder), "GAMMONFARM_MLFLOW_URI": "off"}
        command = [sys.executable, "-m", "cluster.cli.main", "serve", "--executor=inline", f"--port={port}"]
        farm = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        url = f"http://127.0.0.1:{port}"
        refusals: list[str] = []
        accepted: list[str] = []
        try:
            wait_until_warm(url)
            with Client(url) as client:
                for number in range(options.jobs):
                    accepted.append(client.submit(**question(number)).job.id)
                filler = folder / "filler"
                fill(filler)
                for number in range(options.jobs, options.jobs + 3):
                    try:
                        accepted.append(client.submit(**question(number)).job.id)
                    except InfrastructureError as error:
                        refusals.append(str(error))
                try:
                    problem = client.status().ledger_problem
                except InfrastructureError as error:
                    problem = str(error)
                filler.unlink()
                deadline = time.monotonic() + 600
                done = 0
                while done < len(accepted) and time.monotonic() < deadline:
                    time.sleep(2.0)
                    with contextlib.suppress(InfrastructureError):
                        done = sum(client.job(job).state is JobState.DONE for job in accepted)
        finally:
            farm.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                farm.wait(60)
    report = {"accepted": len(accepted), "done": done, "refused": refusals, "status": problem, "folder": str(home)}
    print(json.dumps(report, indent=2))
    return 0 if done == len(accepted) and refusals and problem else 1


if __name__ == "__main__":
    sys.exit(main())
