"""One module per command: its ``run`` does what was asked, and gives the exit code."""
