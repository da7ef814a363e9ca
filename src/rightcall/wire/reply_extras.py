"""Converts each vendor's form of citations to ours.

The vendors' bags are only read. A span refers to the reply's ``text``; invalid spans are left out.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, TypeAlias

from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Citation, Token
from rightcall.core.parts import Text
from rightcall.errors import EncodeError
from rightcall.wire.payload import count_in, mapping, sequence, text_in

Read: TypeAlias = Callable[[Mapping[str, Any], int, int], Citation]
"""Makes a Citation from a vendor's citation and the span that it is for."""


_LEADING = 0xC0
_FOLLOWS = 0x80
"""A byte masked with the first value equals the second if it continues a character of UTF-8."""


def in_texts(content: Iterable[object], dialect: str, read: Read) -> tuple[Citation, ...]:
    """The citations in the vendor bags of a reply's texts; each spans its whole text."""
    found: list[Citation] = []
    at = 0
    for part in content:
        if isinstance(part, Text):
            end = at + len(part.text)
            if part.vendor:
                for each in sequence(mapping(part.vendor.get(dialect)).get("citations")):
                    if isinstance(each, Mapping):
                        found.append(read(each, at, end))
            at = end
    return tuple(found)


def of_anthropic(said: Mapping[str, Any], start: int, end: int) -> Citation:
    """A citation of a document, a web page or a search result.

    https://platform.claude.com/docs/en/build-with-claude/citations
    """
    source = _text(said, "source")
    return Citation(
        start=start,
        end=end,
        url=_text(said, "url") or source,
        title=_text(said, "title") or _text(said, "document_title"),
        file=_text(said, "file_id"),
        quote=_text(said, "cited_text"),
    )


def of_bedrock(said: Mapping[str, Any], start: int, end: int) -> Citation:
    """A citation of Bedrock's Converse.

    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Citation.html
    """
    location = mapping(said.get("location"))
    quotes = [_text(mapping(each), "text") for each in sequence(said.get("sourceContent"))]
    return Citation(
        start=start,
        end=end,
        url=_text(mapping(location.get("web")), "url") or _text(said, "source"),
        title=_text(said, "title"),
        quote="".join(quotes),
    )


def of_cohere(content: Iterable[object], dialect: str) -> tuple[Citation, ...]:
    """The citations in the vendor bags of a reply's texts, one for each source of a span.

    https://docs.cohere.com/reference/chat
    """
    found: list[Citation] = []
    at = 0
    for part in content:
        if not isinstance(part, Text):
            continue
        for each in sequence(mapping(part.vendor.get(dialect)).get("citations")):
            said = mapping(each)
            span = _within(said.get("start"), said.get("end"), len(part.text), at)
            for source in sequence(said.get("sources")):
                told = mapping(mapping(source).get("document"))
                if not told:
                    # A tool's result, which the transcript already has.
                    continue
                citation = Citation(
                    start=span and span[0],
                    end=span and span[1],
                    url=_text(told, "url"),
                    title=_text(told, "title"),
                    file=_text(mapping(source), "id"),
                    quote=_text(told, "snippet"),
                )
                found.append(citation)
        at += len(part.text)
    return tuple(found)


def parse_annotations(annotations: object, text: str, before: int = 0) -> list[Citation]:
    """OpenAI's annotations of a text that starts ``before`` characters into the reply.

    Responses has an annotation's members at the top, Chat in an object named after its type.
    """
    found = []
    for each in sequence(annotations):
        kind = _text(mapping(each), "type")
        said = mapping(mapping(each).get(kind)) or mapping(each)
        start = said.get("start_index")
        end = said.get("end_index")
        if kind == "file_citation" and start is None:
            # "The index in the output text at which to insert the file citation."
            start = end = said.get("index")
        span = _within(start, end, len(text), before)
        citation = Citation(
            start=span and span[0],
            end=span and span[1],
            url=_text(said, "url"),
            title=_text(said, "title") or _text(said, "filename"),
            file=_text(said, "file_id"),
            quote=_text(said, "content"),
        )
        if citation.url or citation.file or citation.title:
            found.append(citation)
    return found


def parse_byte_annotations(annotations: object, text: str, before: int = 0) -> list[Citation]:
    """Annotations of Gemini's Interactions, whose spans count bytes of the text's UTF-8.

    https://ai.google.dev/api/interactions-api, Annotation.
    """
    annotated = [mapping(each) for each in sequence(annotations)]
    spans = [
        {"startIndex": each.get("start_index"), "endIndex": each.get("end_index")} for each in annotated
    ]
    places = _characters(text, spans)
    found = []
    for each, span in zip(annotated, spans, strict=True):
        start, end = _span(span, text, places)
        citation = Citation(
            start=None if start is None else before + start,
            end=None if end is None else before + end,
            url=_text(each, "url") or _text(each, "document_uri"),
            title=_text(each, "title") or _text(each, "name"),
            file=_text(each, "file_name"),
        )
        if citation.url or citation.file or citation.title:
            found.append(citation)
    return found


def parse_sources(bag: Mapping[str, Any]) -> list[Citation]:
    """The sources that Perplexity and xAI send with an answer, in the order of its ``[1]``, ``[2]``."""
    found = []
    for result in map(mapping, sequence(bag.get("search_results"))):
        title = _text(result, "title")
        found.append(Citation(url=_text(result, "url"), title=title, quote=_text(result, "snippet")))
    if not found:
        for address in sequence(bag.get("citations")):
            if isinstance(address, str):
                found.append(Citation(url=address))
    return found


def parse_grounding(bag: Mapping[str, Any], text: str) -> tuple[Citation, ...]:
    """Citations from Gemini's grounding metadata and its recitations.

    https://ai.google.dev/api/generate-content#GroundingMetadata
    Its spans count bytes of UTF-8 within one part. If the text that comes with a span stands elsewhere
    in the reply, the text decides.
    """
    grounding = mapping(bag.get("groundingMetadata"))
    recitation = mapping(bag.get("citationMetadata"))
    sources = recitation.get("citationSources") or recitation.get("citations")
    recited = list(map(mapping, sequence(sources)))
    supports = list(map(mapping, sequence(grounding.get("groundingSupports"))))
    segments = [mapping(each.get("segment")) for each in supports]
    chunks = []
    for each in map(mapping, sequence(grounding.get("groundingChunks"))):
        # The chunk's only member says where it was found.
        source: Mapping[str, Any] = {}
        for value in each.values():
            source = source or mapping(value)
        chunk = Citation(
            url=_text(source, "uri") or _text(source, "sourceUri"),
            title=_text(source, "title"),
            file=_text(source, "documentName"),
            quote=_text(source, "text"),
        )
        chunks.append(chunk)
    places = _characters(text, [*segments, *recited])
    found: list[Citation] = []
    cited: set[int] = set()
    for support, segment in zip(supports, segments, strict=True):
        start, end = _span(segment, text, places)
        for at in sequence(support.get("groundingChunkIndices")):
            if isinstance(at, int) and 0 <= at < len(chunks):
                cited.add(at)
                found.append(replace(chunks[at], start=start, end=end))
    for at, chunk in enumerate(chunks):
        if at not in cited:
            found.append(chunk)
    for each in recited:
        start, end = _span(each, text, places)
        found.append(Citation(start=start, end=end, url=_text(each, "uri"), title=_text(each, "title")))
    return tuple(found)


def _characters(text: str, said: Iterable[Mapping[str, Any]]) -> dict[int, int]:
    """Maps the vendor's byte offsets to character offsets; an offset inside a character is left out."""
    wanted: set[int] = set()
    for each in said:
        wanted.add(count_in(each, "startIndex"))
        wanted.add(count_in(each, "endIndex"))
    if not wanted:
        return {}
    if text.isascii():
        return {place: place for place in wanted if 0 <= place <= len(text)}
    written = text.encode(errors="surrogatepass")
    found: dict[int, int] = {}
    at = 0
    characters = 0
    for place in sorted(wanted):
        if not 0 <= place <= len(written):
            continue
        if place < len(written) and written[place] & _LEADING == _FOLLOWS:
            continue
        characters += len(written[at:place].decode(errors="surrogatepass"))
        found[place] = characters
        at = place
    return found


def _span(
    said: Mapping[str, Any], text: str, places: Mapping[int, int]
) -> tuple[int | None, int | None]:
    words = _text(said, "text")
    start = places.get(count_in(said, "startIndex"))
    end = places.get(count_in(said, "endIndex"))
    if start is not None and end is not None and start < end and words in ("", text[start:end]):
        return start, end
    at = text.find(words) if words else -1
    if at < 0:
        return (None, None)
    return (at, at + len(words))


def _within(start: object, end: object, length: int, before: int) -> tuple[int, int] | None:
    if isinstance(start, int) and isinstance(end, int) and 0 <= start <= end <= length:
        return before + start, before + end
    return None


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    return text_in(value)


def reported_cost(usage: Mapping[str, Any]) -> float | None:
    """The price in dollars that a gateway reports, which is more reliable than a price table; or None.

    OpenRouter writes it into ``usage``, in Chat and in Responses. Where the vendor was paid with the
    user's own key, ``cost`` is only the gateway's fee, and the vendor's price stands beside it:
    https://openrouter.ai/docs/use-cases/usage-accounting. Perplexity's ``cost`` is an object that
    contains the sum (perplexityai 0.46.1, ResponsesUsage).
    """
    told = usage.get("cost")
    if told is None:
        return None
    cost = _dollars(told.get("total_cost") if isinstance(told, Mapping) else told)
    details = usage.get("cost_details")
    if cost is not None and usage.get("is_byok") is True and isinstance(details, Mapping):
        cost += _dollars(details.get("upstream_inference_cost")) or 0.0
    return cost


def _dollars(value: object) -> float | None:
    """An amount in dollars; None for a value that can only be a mistake."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isfinite(value) and value >= 0:
        return float(value)
    return None


def wanted_alternatives(options: Mapping[str, JsonValue], dialect: str) -> int | None:
    """How many alternatives to request for each token; None if logprobs are not wanted."""
    wanted = options.get("logprobs")
    if wanted is None or wanted is False:
        return None
    if not isinstance(wanted, int) or wanted < 0:
        words = f"{wanted!r} is neither True nor a number of alternatives."
        raise EncodeError(dialect, words, where="options.logprobs")
    if wanted is True:
        return 0
    return wanted


def refuse_logprobs(options: Mapping[str, JsonValue], dialect: str) -> None:
    """Raise if logprobs are requested from a vendor that has none."""
    if wanted_alternatives(options, dialect) is not None:
        words = (
            "this vendor does not tell how likely its tokens were; leave it out, or ask by openai_chat, "
            "openai_responses, gemini or ollama."
        )
        raise EncodeError(dialect, words, where="options.logprobs")


def parse_openai_logprobs(entries: object) -> list[Token]:
    """Parses the entries of Chat and Responses."""
    tokens = []
    for entry in map(mapping, sequence(entries)):
        token = entry.get("token")
        logprob = entry.get("logprob")
        if isinstance(token, str) and isinstance(logprob, int | float):
            alternatives = _pairs(sequence(entry.get("top_logprobs")), "logprob")
            tokens.append(Token(token, float(logprob), alternatives))
    return tokens


def parse_gemini_logprobs(result: Mapping[str, Any]) -> list[Token]:
    """Parses the result of a candidate: https://ai.google.dev/api/generate-content#LogprobsResult."""
    top = [mapping(each).get("candidates") for each in sequence(result.get("topCandidates"))]
    found: list[Token] = []
    for at, chosen in enumerate(map(mapping, sequence(result.get("chosenCandidates")))):
        token = chosen.get("token")
        logprob = chosen.get("logProbability")
        if isinstance(token, str):
            beside = sequence(top[at]) if at < len(top) else ()
            # Zero values may be omitted.
            if not isinstance(logprob, int | float):
                logprob = 0.0
            found.append(Token(token, float(logprob), _pairs(beside, "logProbability")))
    return found


def _pairs(entries: Sequence[Any], name: str) -> tuple[tuple[str, float], ...]:
    pairs = []
    for entry in map(mapping, entries):
        token = entry.get("token")
        logprob = entry.get(name, 0)
        if isinstance(token, str) and isinstance(logprob, int | float):
            pairs.append((token, float(logprob)))
    return tuple(pairs)
