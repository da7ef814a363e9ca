"""How things are opened, in the system's words; a word that this system lacks stands for nothing.

Elsewhere than on POSIX nothing can be granted, but the tools can still be imported.
"""

import os


def _flags(*names: str) -> int:
    flags = 0
    for name in names:
        flags |= getattr(os, name, 0)
    return flags


READ = _flags("O_RDONLY", "O_NONBLOCK", "O_NOCTTY")
"""A file's content. Neither a pipe nor a terminal may hold us up, if one gets in the way."""
LIST = _flags("O_RDONLY", "O_NONBLOCK", "O_DIRECTORY")
"""The names in a directory."""
LOOK = _flags("O_PATH") or READ
"""What a path stands for, without opening it where the system can do that."""
PASS = _flags("O_PATH", "O_DIRECTORY", "O_NOFOLLOW")
"""A directory on the way to something."""
CREATE = _flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_NOFOLLOW")
"""A new file, under a name that nothing has."""
NOFOLLOW = _flags("O_NOFOLLOW")
