"""Everything that a client or an operator touches: job store, planner, coordinator, executors, command line."""
