"""The version of this package, as its ``__init__`` says.

The installed metadata may be older: an editable install keeps the version of the day it was made.
Importing the package from within would import everything that it offers.
"""

import sys


def own_version() -> str:
    """The package's ``__version__``."""
    version: str = sys.modules["rightcall"].__version__
    return version
