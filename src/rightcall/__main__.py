"""``python -m rightcall`` is ``rightcall``."""

import sys

from rightcall.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
