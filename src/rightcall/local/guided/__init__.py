"""Models too small to be told everything at once, led through a call one question at a time."""
