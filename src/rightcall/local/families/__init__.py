"""How each family of local models writes thoughts, answers and calls, as data run by one engine."""
