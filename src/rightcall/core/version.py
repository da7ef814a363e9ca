"""The version of this package, as its ``__init__`` says it.

What is installed may be older: an editable install keeps the version of the day it was made. To import
the package from within would be an import of all that it offers.
"""

import sys


def own_version() -> str:
    """The package's ``__version__``."""
    version: str = sys.modules["rightcall"].__version__
    return version
