"""Deep analysis: what a search and a simulation together say of a decision, and how far noise could have made it."""
