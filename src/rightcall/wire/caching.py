"""How long vendors keep the beginning of a prompt, as each has a word for it."""

from collections.abc import Collection, Mapping

from rightcall.core.jsontext import JsonValue
from rightcall.errors import EncodeError


def lifetime(options: Mapping[str, JsonValue], taken: Collection[str], dialect: str) -> str:
    """The ``cache_ttl`` that is asked for; empty for the vendor's own, an error for what it has not."""
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
    """The members that say how long, and under which key, in Chat and in Responses.

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
"""What OpenAI's parts have where the prompt up to their end is to be kept."""
