"""The command line. These are the exit codes of its commands."""

OK = 0
NO_ANSWER = 1
"""The run, the call or the stream ended without the requested result."""
BAD_USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""The reader of the output closed the pipe: the code of a program that SIGPIPE ends."""
