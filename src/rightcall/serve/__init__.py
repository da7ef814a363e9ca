"""Servers: what others reach over HTTP. Each is a folder of its own; all are the extra ``serve``."""
