"""How fast gammonfarm is on this machine, beside GNU Backgammon where that is installed."""
