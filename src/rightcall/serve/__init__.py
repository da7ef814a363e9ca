"""Servers that others reach over HTTP. Each is a folder of its own; all need the extra ``serve``."""
