"""One module per command: its ``run`` executes it and returns the exit code."""
