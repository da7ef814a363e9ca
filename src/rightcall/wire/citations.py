"""Converts each vendor's form of citations to ours.

The vendors' bags are only read. A span refers to the reply's ``text``; invalid spans are left out.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from msgspec.structs import replace

from rightcall.core.citation import Citation
from rightcall.core.parts import Text
from rightcall.wire.encoding import mapping, sequence

Read: TypeAlias = Callable[[Mapping[str, Any], int, int], Citation]
"""Makes a Citation from a vendor's citation and the span that it is for."""


_LEADING, _FOLLOWS = 0xC0, 0x80
"""A byte masked with the first value equals the second if it continues a character of UTF-8."""


def in_texts(content: Iterable[object], dialect: str, read: Read) -> tuple[Citation, ...]:
    """The citations in the vendor bags of a reply's texts; each spans its whole text."""
    found: list[Citation] = []
    at = 0
    for part in content:
        if isinstance(part, Text):
            end = at + len(part.text)
            if part.vendor:
                given = sequence(mapping(part.vendor.get(dialect)).get("citations"))
                found += [read(each, at, end) for each in given if isinstance(each, Mapping)]
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


def annotated(annotations: object, text: str, before: int = 0) -> list[Citation]:
    """OpenAI's annotations of a text that starts ``before`` characters into the reply.

    Responses has an annotation's members at the top, Chat in an object named after its type.
    """
    found = []
    for each in sequence(annotations):
        kind = _text(mapping(each), "type")
        said = mapping(mapping(each).get(kind)) or mapping(each)
        start, end = said.get("start_index"), said.get("end_index")
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


def annotated_bytes(annotations: object, text: str, before: int = 0) -> list[Citation]:
    """Annotations of Gemini's Interactions, whose spans count bytes of the text's UTF-8.

    https://ai.google.dev/api/interactions-api, Annotation.
    """
    said = [mapping(each) for each in sequence(annotations)]
    spans = [{"startIndex": each.get("start_index"), "endIndex": each.get("end_index")} for each in said]
    places = _characters(text, spans)
    found = []
    for each, span in zip(said, spans, strict=True):
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


def listed(bag: Mapping[str, Any]) -> list[Citation]:
    """The sources that Perplexity and xAI send with an answer, in the order of its ``[1]``, ``[2]``."""
    results = [mapping(each) for each in sequence(bag.get("search_results"))]
    if not results:
        addresses = sequence(bag.get("citations"))
        return [Citation(url=each) for each in addresses if isinstance(each, str)]
    return [
        Citation(url=_text(each, "url"), title=_text(each, "title"), quote=_text(each, "snippet"))
        for each in results
    ]


def grounded(bag: Mapping[str, Any], text: str) -> tuple[Citation, ...]:
    """Citations from Gemini's grounding metadata and its recitations.

    https://ai.google.dev/api/generate-content#GroundingMetadata
    Its spans count bytes of UTF-8 within one part. If the text that comes with a span stands elsewhere
    in the reply, the text decides.
    """
    grounding = mapping(bag.get("groundingMetadata"))
    recited = [mapping(each) for each in sequence(_sources(bag))]
    supports = [mapping(each) for each in sequence(grounding.get("groundingSupports"))]
    segments = [mapping(each.get("segment")) for each in supports]
    chunks = [_chunk(mapping(each)) for each in sequence(grounding.get("groundingChunks"))]
    places = _characters(text, [*segments, *recited])
    found: list[Citation] = []
    cited: set[int] = set()
    for support, segment in zip(supports, segments, strict=True):
        start, end = _span(segment, text, places)
        for at in sequence(support.get("groundingChunkIndices")):
            if isinstance(at, int) and 0 <= at < len(chunks):
                cited.add(at)
                found.append(replace(chunks[at], start=start, end=end))
    found += [chunk for at, chunk in enumerate(chunks) if at not in cited]
    for each in recited:
        start, end = _span(each, text, places)
        found.append(Citation(start=start, end=end, url=_text(each, "uri"), title=_text(each, "title")))
    return tuple(found)


def _sources(bag: Mapping[str, Any]) -> object:
    said = mapping(bag.get("citationMetadata"))
    return said.get("citationSources") or said.get("citations")


def _chunk(chunk: Mapping[str, Any]) -> Citation:
    """The source of a grounding chunk; the chunk's only member says where it was found."""
    said = next((found for value in chunk.values() if (found := mapping(value))), {})
    return Citation(
        url=_text(said, "uri") or _text(said, "sourceUri"),
        title=_text(said, "title"),
        file=_text(said, "documentName"),
        quote=_text(said, "text"),
    )


def _characters(text: str, said: Iterable[Mapping[str, Any]]) -> dict[int, int]:
    """Maps the vendor's byte offsets to character offsets; an offset inside a character is left out."""
    wanted = {_place(each, name) for each in said for name in ("startIndex", "endIndex")}
    if text.isascii():
        return {place: place for place in wanted if 0 <= place <= len(text)}
    written = text.encode(errors="surrogatepass") if wanted else b""
    found: dict[int, int] = {}
    at = characters = 0
    for place in sorted([each for each in wanted if 0 <= each <= len(written)]):
        if place < len(written) and written[place] & _LEADING == _FOLLOWS:
            continue
        characters += len(written[at:place].decode(errors="surrogatepass"))
        found[place], at = characters, place
    return found


def _span(
    said: Mapping[str, Any], text: str, places: Mapping[int, int]
) -> tuple[int | None, int | None]:
    words = _text(said, "text")
    start, end = places.get(_place(said, "startIndex")), places.get(_place(said, "endIndex"))
    if start is not None and end is not None and start < end and words in ("", text[start:end]):
        return start, end
    at = text.find(words) if words else -1
    return (None, None) if at < 0 else (at, at + len(words))


def _place(said: Mapping[str, Any], name: str) -> int:
    value = said.get(name)
    return value if isinstance(value, int) else 0


def _within(start: object, end: object, length: int, before: int) -> tuple[int, int] | None:
    if isinstance(start, int) and isinstance(end, int) and 0 <= start <= end <= length:
        return before + start, before + end
    return None


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""
