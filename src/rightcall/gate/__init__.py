"""The one gate: check -> decide -> run -> render."""
