"""A tool for a screen, a pointer and a keyboard."""
