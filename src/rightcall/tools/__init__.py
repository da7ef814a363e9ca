"""The token cost of a set of tools, and a linter for their definitions."""
