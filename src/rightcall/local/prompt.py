"""Renders a request as the prompt for a raw model, with the model's own chat template.

What the template does not support is moved to where it does (``template/writer.py``). Untrusted text,
and what the model wrote itself, cannot forge the template's special tokens: ``neutralise`` inserts a
space into each one found there. System text is the developer's, and stays unchanged.

Templates that write schemas in a language of their own know only some of JSON Schema, and fail at the
rest: a list of types, a number among the values, a property that is just ``true``. What a template
cannot write is put into the description.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.options import checked
from rightcall.core.request import Named, Request
from rightcall.core.sanitize import encodable
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.local.raw_model import refuse_what_vendors_have
from rightcall.local.template.chat_template import NAME, ChatTemplate
from rightcall.local.template.probing import probe, tail_of
from rightcall.local.template.quirks import (
    Quirks,
    Segment,
    neutralise,
    problems_of,
    segments,
    set_reasoning,
)
from rightcall.local.template.writer import Fallback, Turn, Writer

__all__ = ["Fallback", "Prompt", "neutralise", "render_prompt", "segments", "visible"]

_MOST_TRIED = 200
"""How many messages of a transcript are searched for the one that a template refuses."""
_WORDED = "the template fails at the schema of {}: it is described in words"
_DESCRIBING = {"description", "title"}
_DEFINITIONS = ("$defs", "definitions")
_PLAIN_TYPES: Mapping[str, JsonObject] = {
    "string": {},
    "integer": {},
    "number": {},
    "boolean": {},
    "array": {"items": {"type": "string"}},
    "object": {"properties": {}, "additionalProperties": {"type": "string"}},
}
"""Types that every template can write, with the keywords without which some fail."""
_USER = {"role": "user", "content": "Hello"}


class Prompt(Struct, frozen=True):
    """A rendered prompt."""

    text: str
    tail: str
    """Its end, which opens the model's turn. A thought opened here is not opened by the reply."""
    notes: tuple[str, ...] = ()
    """What the template does not support in this request, and what was done instead."""


@checked("rc.local.render_prompt")
def render_prompt(
    request: Request,
    template: ChatTemplate,
    *,
    fallback: Fallback | None = None,
    neutral: bool = True,
    opened: bool = True,
) -> Prompt:
    """The prompt for a request.

    ``fallback`` describes tools if the template does not; ``neutral=False`` leaves special tokens in the
    messages unchanged. ``opened=False`` ends the prompt where the messages do, without what opens the
    model's turn. Raises EncodeError if no prompt can be made.
    """
    quirks = probe(template)
    if not quirks.shows_user:
        raise EncodeError(NAME, "it does not show what a user says; it is not made for conversations.")
    specs = _specs(request)
    markers = quirks.markers if neutral else ()
    specs = tuple([_neutral_spec(spec, markers) for spec in specs])
    writer = Writer(quirks, fallback, lambda text: neutralise(encodable(text), markers))
    system = encodable(_system(request, specs, quirks, fallback))
    messages = writer.write(system, request.messages)
    job = _Job(template, quirks, messages, writer.origins, _variables(request, quirks), opened)
    text, tail, worded = _rendered(job, specs if quirks.tools == "shown" else ())
    if template.add_bos and template.bos and not text.startswith(template.bos):
        text = template.bos + text
    notes = _notes(request, quirks, specs, writer)
    return Prompt(text, tail, (*notes, *(_WORDED.format(name) for name in worded)))


def visible(prompt: Prompt, template: ChatTemplate) -> list[Segment]:
    """The prompt in pieces, with special strings separate from text. Joined they are the prompt."""
    return segments(prompt.text, probe(template).markers)


def _specs(request: Request) -> tuple[Spec, ...]:
    refuse_what_vendors_have(request.options)
    if not request.specs and (request.choice == "required" or isinstance(request.choice, Named)):
        raise EncodeError(NAME, "a tool must be called, and there is none.", where="choice")
    # The only way for a template to keep tools from being called is not to show them.
    return () if request.choice == "none" else request.specs


def _system(request: Request, specs: tuple[Spec, ...], quirks: Quirks, fallback: Fallback | None) -> str:
    if not specs or quirks.tools == "shown":
        return request.system
    if fallback is None:
        reason = (
            f"{problems_of(quirks)['tools'].partition(':')[0]}; give a fallback that describes them."
        )
        raise EncodeError(NAME, reason, where="specs")
    told = fallback.instructions(specs)
    return f"{request.system}\n\n{told}" if request.system else told


def _variables(request: Request, quirks: Quirks) -> dict[str, Any]:
    """The template's other variables: how much to think, and what the caller set."""
    wanted, extra = request.options.get("reasoning"), request.options.get("extra")
    given: dict[str, Any] = {}
    if isinstance(wanted, str | int):
        given |= set_reasoning(quirks.switches, wanted)
    # The name that servers of raw models use for them.
    own = extra.get("chat_template_kwargs") if isinstance(extra, Mapping) else None
    return given | dict(own) if isinstance(own, Mapping) else given


class _Job(Struct, frozen=True):
    """The input of a rendering."""

    template: ChatTemplate
    quirks: Quirks
    messages: list[Turn]
    origins: Sequence[int]
    given: Mapping[str, Any]
    opened: bool


def _rendered(
    job: _Job, specs: tuple[Spec, ...], worded: tuple[str, ...] = ()
) -> tuple[str, str, tuple[str, ...]]:
    """The prompt, its tail, and the tools whose schemas had to be described in words."""
    given = dict(job.given)
    if specs or job.quirks.needs_tools:
        given["tools"] = [_tool_fields(spec, job.quirks) for spec in specs]
    try:
        return *_render(job, given), worded
    except EncodeError as error:
        names = () if worded else _unshowable(job.template, job.quirks, specs)
        if not names:
            raise EncodeError(NAME, error.reason, where=_culprit(job, given, error)) from None
    simpler = tuple([_in_words(spec) if spec.name in names else spec for spec in specs])
    return _rendered(job, simpler, names)


def _render(job: _Job, given: Mapping[str, Any]) -> tuple[str, str]:
    render, quirks = job.template.render, job.quirks
    if not job.opened:
        text = render(job.messages, add_generation_prompt=False, **given)
        is_open = quirks.opens in ("always", "doubled")
        return text.removesuffix(quirks.tail) if is_open else text, ""
    match quirks.opens:
        case "asked":
            text = render(job.messages, **given)
            opening = job.template.opening(tools="tools" in given)
            if opening is None:
                unopened = render(job.messages, add_generation_prompt=False, **given)
            else:
                unopened = text.removesuffix(opening)
            if not text.startswith(unopened) and quirks.tail and text.endswith(quirks.tail):
                return text, quirks.tail
            return text, tail_of(text, unopened)
        case "always":
            text = render(job.messages, **given)
        case "doubled":
            text = render(job.messages, add_generation_prompt=False, **given)
        case "never":
            text = render(job.messages, **given) + quirks.tail
    return text, quirks.tail if text.endswith(quirks.tail) else ""


def _culprit(job: _Job, given: Mapping[str, Any], error: EncodeError) -> str:
    """The message that makes the template fail."""
    for count in range(1, min(len(job.messages), _MOST_TRIED) + 1):
        try:
            job.template.render(job.messages[:count], **given)
        except EncodeError as again:
            if again.reason == error.reason:
                at = job.origins[count - 1]
                return f"messages[{at}]" if at >= 0 else "system"
    return ""


def _notes(request: Request, quirks: Quirks, specs: tuple[Spec, ...], writer: Writer) -> tuple[str, ...]:
    about = {*writer.used, "opening", "doubled", *(("tools",) if specs else ())}
    notes = [words for name, words in problems_of(quirks).items() if name in about]
    if request.options.get("reasoning") is not None and not quirks.switches:
        notes.append("the template has no switch for reasoning: the option is left out")
    return tuple(notes)


def _neutral_spec(spec: Spec, markers: Sequence[str]) -> Spec:
    """The spec with its texts neutralised: an MCP server may have written them."""
    described = _described(spec.parameters, markers)
    return replace(spec, description=neutralise(spec.description, markers), parameters=described)


def _tool_fields(spec: Spec, quirks: Quirks) -> dict[str, Any]:
    """The tool in the form for templates."""
    description = spec.description
    if spec.examples:
        examples = "\n".join(dump(example) for example in spec.examples)
        description = f"{description}\n\nExamples of arguments:\n{examples}".strip()
    function = {"name": spec.name, "description": description, "parameters": spec.parameters}
    return function if quirks.flat_tools else {"type": "function", "function": function}


def _unshowable(template: ChatTemplate, quirks: Quirks, specs: Sequence[Spec]) -> tuple[str, ...]:
    """The names of the tools that the template fails at."""
    return tuple([spec.name for spec in specs if not _is_shown(template, quirks, spec)])


def _in_words(spec: Spec) -> Spec:
    """The spec with properties of only a type and a description, which contains the rest."""
    properties = spec.parameters.get("properties")
    simple = {
        name: _simple(schema)
        for name, schema in (properties.items() if isinstance(properties, Mapping) else ())
    }
    required = spec.parameters.get("required")
    names = list(required) if isinstance(required, list | tuple) else []
    named = {key: spec.parameters[key] for key in _DEFINITIONS if key in spec.parameters}
    return replace(
        spec,
        description=f"{spec.description}\n\n{dump(named)}" if named else spec.description,
        parameters={"type": "object", "properties": simple, "required": names},
    )


def _is_shown(template: ChatTemplate, quirks: Quirks, spec: Spec) -> bool:
    try:
        template.render([_USER], tools=[_tool_fields(spec, quirks)])
    except EncodeError:
        return False
    return True


def _simple(schema: Any) -> JsonObject:
    if not isinstance(schema, Mapping):
        return {"type": "string", "description": "any JSON value"}
    words = schema.get("description")
    kinds = schema.get("type")
    listed = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list | tuple) else []
    kind = next((each for each in listed if each in _PLAIN_TYPES), "string")
    rest = {key: value for key, value in schema.items() if key != "description"}
    is_plain = rest == {"type": kind}
    said = [words if isinstance(words, str) else "", "" if is_plain else dump(rest)]
    return {"type": kind, **_PLAIN_TYPES[kind], "description": " ".join(said).strip()}


def _described(schema: Any, markers: Sequence[str]) -> Any:
    """The same for a schema. Names and values stay: a model must write them exactly."""
    match schema:
        case Mapping():
            return {
                key: neutralise(each, markers)
                if key in _DESCRIBING and isinstance(each, str)
                else _described(each, markers)
                for key, each in schema.items()
            }
        case list() | tuple():
            return [_described(each, markers) for each in schema]
        case _:
            return schema
