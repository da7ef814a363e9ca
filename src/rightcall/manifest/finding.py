"""One thing wrong with a manifest: where in the file, what it is, and what to write instead."""

from collections.abc import Sequence

from msgspec import Struct

from rightcall.errors import UsageError


class Finding(Struct, frozen=True, kw_only=True):
    """A problem, or a warning, at one place of a file."""

    file: str
    line: int
    column: int
    path: str = ""
    """Which value: ``tools[1].argv[2]``; empty for the file itself."""
    message: str
    fix: str = ""
    """What to write instead."""

    @property
    def place(self) -> str:
        """Where it stands, as compilers write it and editors read it."""
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def words(self) -> str:
        """What is wrong, with which value, and what to write instead."""
        path = f"{self.path}: " if self.path else ""
        return f"{path}{self.message}" + (f"; {self.fix}" if self.fix else "")

    def __str__(self) -> str:
        return f"{self.place}: {self.words}"


class ManifestError(UsageError):
    """A manifest cannot be used as it is; ``problems`` are all that is wrong with it."""

    code = "manifest"

    def __init__(self, problems: Sequence[Finding]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)
