"""Match equity tables: what a score is worth, and what that makes of a game and of the cube."""

from __future__ import annotations

from engine.met.files import DEFAULT_MET, known_mets, load_met, met_for, usual_met
from engine.met.table import MAX_AWAY, MatchEquityTable

__all__ = ["DEFAULT_MET", "MAX_AWAY", "MatchEquityTable", "known_mets", "load_met", "met_for", "usual_met"]
