"""Reads a person's sentences: what they name, in which role, and what they forbid. Knows no records."""
