"""How evaluators are made: self-play, TD learning, benchmarks, tracking."""
