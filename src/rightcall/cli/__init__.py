"""The command line. These are the exit codes of its commands, and the modules that need extras."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.cli import richview as richview
    from rightcall.cli import servers as servers


OK = 0
NO_ANSWER = 1
"""The run, the call or the stream ended without the requested result."""
BAD_USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""The reader of the output closed the pipe: the code of a program that SIGPIPE ends."""

# rich and the MCP SDK are extras, and load when they are used.
lazily(__name__, {"richview": "cli.richview", "servers": "cli.servers"})
