"""The command line. A command ends with one of these numbers, for the shell."""

OK = 0
NO_ANSWER = 1
"""The run, the call or the stream ended without what was asked for."""
BAD_USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""Whoever read the output had enough: what a shell sees of a program that SIGPIPE ends."""
