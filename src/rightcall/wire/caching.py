"""How long a vendor caches the beginning of a prompt, in each vendor's terms."""

from collections.abc import Collection, Mapping

from rightcall.core.jsontext import JsonValue
from rightcall.errors import EncodeError


def lifetime(options: Mapping[str, JsonValue], taken: Collection[str], dialect: str) -> str:
    """The requested ``cache_ttl``; empty if none is set. Raises EncodeError for one not in ``taken``."""
    wanted = options.get("cache_ttl")
    if wanted is None:
        return ""
    if not isinstance(wanted, str) or wanted not in taken:
        words = f"{wanted!r} is not how long this vendor keeps anything; {' or '.join(taken)} is."
        raise EncodeError(dialect, words, where="options.cache_ttl")
    return wanted


def of_openai(
    options: Mapping[str, JsonValue], taken: Collection[str], dialect: str
) -> dict[str, JsonValue]:
    """The request members for the cache's lifetime and key, in Chat and in Responses.

    https://developers.openai.com/api/docs/guides/prompt-caching
    """
    kept = lifetime(options, taken, dialect)
    members: dict[str, JsonValue] = {}
    if kept == "24h":
        members["prompt_cache_retention"] = kept
    elif kept:
        members["prompt_cache_options"] = {"ttl": kept}
    if (key := options.get("cache_key")) is not None:
        members["prompt_cache_key"] = key
    return members


BREAKPOINT = {"prompt_cache_breakpoint": {"mode": "explicit"}}
"""The member that marks an OpenAI content part as a cache breakpoint: the prompt up to its end is
cached."""
