"""The HTTP API of a farm. It talks to the ledger only: the coordinator may be dead or elsewhere."""
