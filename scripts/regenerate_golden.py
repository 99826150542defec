"""Write tests/golden/network.safetensors anew: 10,000 positions and what the shipped main net says of them, to the bit;
and the answers of the golden questions in workers/golden.py, which no net but a raised result version changes.

Run it (`make golden`) after the shipped net has changed, and only then: the test that reads the file is what notices
when the kernels begin to answer differently, on this CPU or another. Look at the difference before you commit it.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from engine.evaluator import Evaluator, Nets
from engine.rules import INTERNATIONAL
from engine.weights import shipped_net
from training.selfplay import play_round
from workers.golden import golden_answers

POSITIONS = 10_000
GOLDEN = Path(__file__).parent.parent / "tests" / "golden" / "network.safetensors"
QUESTIONS = Path(__file__).parent.parent / "workers" / "golden.py"


def main() -> None:
    """Positions of self-play, every second one turned round (so that all kinds of tempo occur)."""
    net = shipped_net()
    boards = play_round(Nets(net), INTERNATIONAL, 7, 0, 400, 0.0).boards[:POSITIONS].copy()
    boards[1::2] = -boards[1::2, ::-1]
    outcomes = Evaluator(Nets(net)).after_positions(boards).astype(np.int32)
    GOLDEN.parent.mkdir(exist_ok=True)
    save_file({"boards": boards, "outcomes": outcomes}, GOLDEN, metadata={"net": net.digest})
    answers = "".join(f'    "{answer}",\n' for answer in golden_answers())
    text = QUESTIONS.read_text(encoding="utf-8")
    QUESTIONS.write_text(
        re.sub(r"(GOLDEN: tuple.*? = \(\n).*?\)", lambda m: f"{m[1]}{answers})", text, count=1, flags=re.S),
        encoding="utf-8",
    )
    print(f"{GOLDEN.name}: {len(boards)} positions of net {net.digest}")


if __name__ == "__main__":
    main()
