"""GNU Backgammon's rollout of a cube decision: its text is read; and, where it is installed, it is asked."""

from __future__ import annotations

import pytest

from cluster.bench.gnubg_cube import gnubg_cube_rollout, parse_export
from engine.errors import InfrastructureError, InputError
from engine.tally import Estimate
from workers.gnubg_program import find_gnubg

EXPORT = """
Cube analysis
Rollout cubeless equity +0.257

Cubeful equities:
1. Double, take        +0.441
2. Double, pass        +1.000  (+0.559)
3. No double           +0.341  (-0.100)
Proper cube action: Double, take

Rollout details:
Centered 1-cube:
  0.599 0.116 0.002 - 0.401 0.058 0.000 CL +0.257 CF +0.341
 [0.009 0.007 0.001 - 0.009 0.004 0.000 CL  0.022 CF  0.029]
gnubg owns 2-cube:
  0.607 0.091 0.002 - 0.393 0.055 0.000 CL +0.502 CF -0.441
 [0.008 0.010 0.001 - 0.008 0.004 0.000 CL  0.053 CF  0.068]
Full cubeful rollout with variance reduction
"""


def test_both_branches_are_read_with_their_errors() -> None:
    found = parse_export(EXPORT)
    assert (found.no_double, found.double_take) == (Estimate(0.341, 0.029), Estimate(-0.441, 0.068))


def test_an_export_without_both_branches_is_no_answer() -> None:
    with pytest.raises(InfrastructureError, match="1 branches"):
        parse_export(EXPORT.partition("gnubg owns")[0])


@pytest.mark.slow
def test_the_last_roll_comes_out_exactly_where_it_is_installed() -> None:
    try:
        program = find_gnubg()
    except InputError as missing:
        pytest.skip(str(missing))
    # One roll decides: 31 of 36 win.
    found = gnubg_cube_rollout(program, "XGID=-D----------------------d-:0:0:1:00:0:0:0:0:10", 36)
    assert found.no_double.mean == pytest.approx(26 / 36, abs=0.001)
    assert found.double_take.mean == pytest.approx(52 / 36, abs=0.002)
