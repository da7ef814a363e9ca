"""The families that are known, by the form of their calls."""
