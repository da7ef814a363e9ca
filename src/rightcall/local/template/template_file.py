"""Reads a ChatTemplate from a file or folder.

A GGUF file; a ``tokenizer_config.json``; the folder of a model, as downloaded from a hub, where a
``chat_template.jinja`` takes precedence over the configuration; or a template's own file. A model
downloaded from Hugging Face's hub is also found by its name, in the cache of their tools.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rightcall.core.jsontext import JsonError, parse
from rightcall.errors import UsageError
from rightcall.local.gguf import Header, read_header
from rightcall.local.template.chat_template import ChatTemplate

CONFIG = "tokenizer_config.json"
BESIDE = "chat_template.jinja"
NAMED = "additional_chat_templates"
"""The folder with further templates, each named after its file."""
LARGEST = 64 * 1024 * 1024
"""The largest configuration, in bytes; those with all added tokens have a few hundred kilobytes."""


def read_template(path: str | os.PathLike[str], **settings: Any) -> ChatTemplate:
    """The chat template at a path. ``settings`` are those of ChatTemplate."""
    place = Path(path)
    if place.is_dir():
        place = place / (CONFIG if (place / CONFIG).exists() else BESIDE)
    if place.suffix == ".gguf":
        return template_of(read_header(place), **settings)
    if place.suffix == ".json":
        try:
            config = parse(_read(place))
        except JsonError as error:
            raise UsageError(f"{place} is not JSON: {error}") from None
        if not isinstance(config, Mapping):
            raise UsageError(f"{place} is not a tokenizer's configuration: it holds no object")
        # One template as text, or several as a list of names and templates.
        value = config.get("chat_template")
        match value:
            case None:
                variants = {}
            case str():
                variants = {"default": value}
            case list():
                named = []
                for each in value:
                    if isinstance(each, dict):
                        named.append((each.get("name"), each.get("template")))
                variants = {n: text for n, text in named if isinstance(n, str) and isinstance(text, str)}
            case _:
                raise UsageError(f"{place}: chat_template is neither text nor a list of named templates")
        if (place.parent / BESIDE).exists():
            variants["default"] = _read(place.parent / BESIDE)
        for each in sorted((place.parent / NAMED).glob("*.jinja")):
            variants[each.stem] = _read(each)
        if not variants:
            raise UsageError(f"{place} holds no chat template, and there is no {BESIDE} beside it")
        tokens = {name: _text_of(config[name]) for name in config if name.endswith("_token")}
        added = config.get("added_tokens_decoder")
        special = []
        for token in added.values() if isinstance(added, Mapping) else ():
            if isinstance(token, Mapping) and token.get("special"):
                special.append(_text_of(token))
        given = {
            "tokens": {name: text for name, text in tokens.items() if text},
            "special": tuple(filter(None, special)),
            "add_bos": config.get("add_bos_token") is True,
        }
        return ChatTemplate(variants, **{**given, **settings})
    return ChatTemplate(_read(place), **settings)


def model_folder(name: str) -> Path | None:
    """The folder of a model: the one of that name, or the hub's copy in this machine's cache.

    https://huggingface.co/docs/huggingface_hub/guides/manage-cache
    """
    if not name:
        return None
    if Path(name).is_dir():
        return Path(name)
    if name.count("/") != 1 or ".." in name:
        return None
    home = os.environ.get("HF_HOME") or Path("~/.cache/huggingface").expanduser()
    cache = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
    kept = cache / f"models--{name.replace('/', '--')}"
    try:
        wanted = (kept / "refs" / "main").read_text().strip()
    except OSError:
        wanted = ""
    copies = []
    for copy in (kept / "snapshots").glob("*"):
        if (copy / CONFIG).exists() or (copy / BESIDE).exists():
            copies.append(copy)
    # The revision of "main"; else the newest.
    return max(copies, key=lambda copy: (copy.name == wanted, copy.stat().st_mtime), default=None)


def template_of(header: Header, **settings: Any) -> ChatTemplate:
    """The chat template in a GGUF file."""
    if not header.templates:
        raise UsageError(f"the model {header.name!r} carries no chat template; give one as text")
    given = {
        "tokens": {"bos_token": header.bos, "eos_token": header.eos},
        "special": header.special,
        "add_bos": header.add_bos is True,
    }
    return ChatTemplate(header.templates, **{**given, **settings})


def _text_of(token: Any) -> str:
    """A special token's text; given as a string, or as an object with it."""
    if isinstance(token, Mapping):
        token = token.get("content")
    return token if isinstance(token, str) else ""


def _read(place: Path) -> str:
    try:
        if place.stat().st_size > LARGEST:
            raise UsageError(f"{place} is larger than {LARGEST:,} bytes, and is not read")
        return place.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{place} is not UTF-8 text") from None
