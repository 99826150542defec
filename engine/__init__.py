"""The game of backgammon and its evaluation: rules, kernels, network, search, rollouts, statistics.

Nothing in this package knows of Ray, Redis, MLflow or HTTP.
"""
