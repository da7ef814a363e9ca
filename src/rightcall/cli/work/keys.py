"""Vendors' API keys for the command line: store one, list them, remove one."""

import sys
from argparse import Namespace
from getpass import getpass

from rightcall.cli import OK
from rightcall.cli.user_config import MOST_CHARACTERS, forget_key, key_names, keys_file, store_key
from rightcall.core.sanitize import printable


def run(options: Namespace) -> int:
    """Set, list or remove keys, or print where they are stored."""
    match options.action:
        case "set":
            # A key is never an argument: other users could see it, and the shell would record it.
            if sys.stdin.isatty():
                key = getpass(f"Key for {options.name}: ")
            else:
                key = sys.stdin.buffer.read(MOST_CHARACTERS).decode(errors="replace")
            store_key(options.name, key)
            print(printable(f"the key for {options.name} is kept in {keys_file()}"), file=sys.stderr)
        case "remove":
            forget_key(options.name)
            print(printable(f"the key for {options.name} is forgotten"), file=sys.stderr)
        case "path":
            print(keys_file())
        case _:
            for name in key_names():
                print(printable(name))
    return OK
