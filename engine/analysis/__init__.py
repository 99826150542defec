"""What can be said about decisions of a match: pure functions of boards, values and records."""
