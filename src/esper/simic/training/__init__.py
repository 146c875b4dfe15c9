"""The training loop: its configuration, and the function that runs it."""
