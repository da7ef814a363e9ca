"""Arithmetic for models: an expression's text into its value, within bounds and without ``eval``."""
