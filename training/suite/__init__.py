"""The benchmark suite: an evaluator against public files of decisions and positions with known answers."""
