"""The formats in which each family of local models writes thoughts, answers and calls, as data."""
