"""A screen, a pointer and a keyboard, as a tool."""
