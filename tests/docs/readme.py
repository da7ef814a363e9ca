"""The README's programs, as somebody would paste them into files."""

import re
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


def first_program() -> str:
    """The program for a real provider."""
    return _found(r"^```py\n(.*?)^```$")[0]


def offline_program() -> tuple[str, str]:
    """The program that needs neither key nor network, and what it prints."""
    code, output = _found(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$")
    return code, output


def _found(pattern: str) -> tuple[str, ...]:
    found = re.search(pattern, README.read_text(), re.MULTILINE | re.DOTALL)
    if found is None:
        raise LookupError(f"{README.name} has no block like {pattern!r}")
    return found.groups()
