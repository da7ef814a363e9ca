"""Chat templates of our own, each with the habits of some in use, and those found on the machine."""

import os
import sysconfig
from functools import cache
from pathlib import Path

from rightcall.local.gguf import read_header

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
BAR = "\uff5c"
"""The bar in DeepSeek's markers."""

_FOLDER = Path(__file__).with_name("jinja")
OWN = {path.stem: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.jinja"))}


@cache
def found() -> dict[str, str]:
    """Templates in the folder that RIGHTCALL_TEMPLATES names, and in installed packages."""
    places = [Path(sysconfig.get_path("purelib"))]
    if os.environ.get("RIGHTCALL_TEMPLATES"):
        places.append(Path(os.environ["RIGHTCALL_TEMPLATES"]))
    templates: dict[str, str] = {}
    for place in places:
        for folder, _, names in os.walk(place):
            for name in names:
                path = Path(folder, name)
                if name.endswith(".jinja"):
                    templates[path.relative_to(place).as_posix()] = path.read_text(encoding="utf-8")
                elif name.endswith(".gguf"):
                    for variant, text in read_header(path).templates.items():
                        templates[f"{name}:{variant}"] = text
    return templates
