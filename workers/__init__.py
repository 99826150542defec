"""What runs on a worker node: tasks in, outputs out."""
