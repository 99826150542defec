"""The farm as a service: kinds of jobs, pools of workers, and the coordinator that drives many jobs at once."""
