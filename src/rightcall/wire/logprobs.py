"""Log probabilities of tokens: how they are requested, and how OpenAI's and Gemini's are parsed."""

from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.core.citation import Token
from rightcall.core.jsontext import JsonValue
from rightcall.errors import EncodeError
from rightcall.wire.encoding import mapping, sequence


def alternatives(options: Mapping[str, JsonValue], dialect: str) -> int | None:
    """How many alternatives to request for each token; None if logprobs are not wanted."""
    wanted = options.get("logprobs")
    if wanted is None or wanted is False:
        return None
    if not isinstance(wanted, int) or wanted < 0:
        words = f"{wanted!r} is neither True nor a number of alternatives."
        raise EncodeError(dialect, words, where="options.logprobs")
    return 0 if wanted is True else wanted


def refuse(options: Mapping[str, JsonValue], dialect: str) -> None:
    """Raise if logprobs are requested from a vendor that has none."""
    if alternatives(options, dialect) is not None:
        words = (
            "this vendor does not tell how likely its tokens were; leave it out, or ask by openai_chat, "
            "openai_responses, gemini or ollama."
        )
        raise EncodeError(dialect, words, where="options.logprobs")


def of_openai(entries: object) -> list[Token]:
    """Parses the entries of Chat and Responses."""
    return [
        Token(token, float(logprob), _pairs(sequence(entry.get("top_logprobs")), "logprob"))
        for entry in map(mapping, sequence(entries))
        if isinstance(token := entry.get("token"), str)
        and isinstance(logprob := entry.get("logprob"), int | float)
    ]


def of_gemini(result: Mapping[str, Any]) -> list[Token]:
    """Parses the result of a candidate: https://ai.google.dev/api/generate-content#LogprobsResult."""
    top = [mapping(each).get("candidates") for each in sequence(result.get("topCandidates"))]
    found: list[Token] = []
    for at, chosen in enumerate(map(mapping, sequence(result.get("chosenCandidates")))):
        token, logprob = chosen.get("token"), chosen.get("logProbability")
        if isinstance(token, str):
            beside = sequence(top[at]) if at < len(top) else ()
            # Zero values may be omitted.
            known = float(logprob) if isinstance(logprob, int | float) else 0.0
            found.append(Token(token, known, _pairs(beside, "logProbability")))
    return found


def _pairs(entries: Sequence[Any], name: str) -> tuple[tuple[str, float], ...]:
    said = [(mapping(entry).get("token"), mapping(entry).get(name, 0)) for entry in entries]
    return tuple(
        (token, float(logprob))
        for token, logprob in said
        if isinstance(token, str) and isinstance(logprob, int | float)
    )
