"""Guided calls for models too small for one large prompt: they get one question at a time."""
