"""The name of a local model into the file that holds it."""

from pathlib import Path

from toolwright import catalogue
from toolwright.errors import UsageError


def file_of(name: str) -> Path:
    """The file of the embedded model, of one that was given a name, or the file that is named itself."""
    name = name.removeprefix("local:")
    if name == catalogue.EMBEDDED:
        from toolwright.local.engines.llamacpp import embedded_path  # noqa: PLC0415 - light until used

        return embedded_path()
    known = catalogue.path_of(name)
    if known is not None:
        return known
    if name.endswith(".gguf"):
        return Path(name).expanduser()
    raise UsageError(
        f"{name!r} is no local model: name one of 'toolwright models list', or a .gguf file"
    )
