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
from rightcall.core.options import check_keywords
from rightcall.core.request import Named, Request
from rightcall.core.sanitize import break_tokens, encodable
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.local.raw_model import refuse_vendor_options
from rightcall.local.template.chat_template import NAME, ChatTemplate
from rightcall.local.template.quirks import (
    Quirks,
    Segment,
    neutralise,
    probe,
    problems_of,
    segments,
    set_reasoning,
    tail_of,
)
from rightcall.local.template.writer import ToolFallback, TranscriptWriter, Turn

__all__ = ["Prompt", "ToolFallback", "neutralise", "render_prompt", "segments", "visible"]

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


@check_keywords("rc.local.render_prompt")
def render_prompt(
    request: Request,
    template: ChatTemplate,
    *,
    fallback: ToolFallback | None = None,
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
    refuse_vendor_options(request.options)
    if not request.specs and (request.choice == "required" or isinstance(request.choice, Named)):
        raise EncodeError(NAME, "a tool must be called, and there is none.", where="choice")
    # The only way for a template to keep tools from being called is not to show them.
    offered = () if request.choice == "none" else request.specs
    markers = quirks.markers if neutral else ()
    # An MCP server may have written a spec's texts.
    neutral_specs = []
    for spec in offered:
        description = neutralise(spec.description, markers)
        parameters = _neutral_schema(spec.parameters, markers)
        neutral_specs.append(replace(spec, description=description, parameters=parameters))
    specs = tuple(neutral_specs)
    writer = TranscriptWriter(
        quirks,
        fallback,
        lambda text: neutralise(encodable(text), markers),
        break_tokens if neutral else str,
    )
    system = request.system
    if specs and quirks.tools != "shown":
        if fallback is None:
            problem = problems_of(quirks)["tools"].partition(":")[0]
            reason = f"{problem}; give a fallback that describes them."
            raise EncodeError(NAME, reason, where="specs")
        if system:
            system = f"{system}\n\n"
        system += fallback.instructions(specs)
    messages = writer.write(encodable(system), request.messages)
    # The template's other variables: how much to think, and what the caller set.
    variables: dict[str, Any] = {}
    wanted = request.options.get("reasoning")
    if isinstance(wanted, str | int):
        variables |= set_reasoning(quirks.switches, wanted)
    extra = request.options.get("extra")
    if isinstance(extra, Mapping):
        # The name that servers of raw models use for them.
        own = extra.get("chat_template_kwargs")
        if isinstance(own, Mapping):
            variables |= own
    job = _Job(template, quirks, messages, writer.origins, variables, opened)
    text, tail, worded = _render_or_simplify(job, specs if quirks.tools == "shown" else ())
    if template.add_bos and template.bos and not text.startswith(template.bos):
        text = template.bos + text
    about = {*writer.used, "opening", "doubled"}
    if specs:
        about.add("tools")
    notes = []
    for name, words in problems_of(quirks).items():
        if name in about:
            notes.append(words)
    if request.options.get("reasoning") is not None and not quirks.switches:
        notes.append("the template has no switch for reasoning: the option is left out")
    notes += [_WORDED.format(name) for name in worded]
    return Prompt(text, tail, tuple(notes))


def visible(prompt: Prompt, template: ChatTemplate) -> list[Segment]:
    """The prompt in pieces, with special strings separate from text. Joined they are the prompt."""
    return segments(prompt.text, probe(template).markers)


class _Job(Struct, frozen=True):
    """The input of a rendering."""

    template: ChatTemplate
    quirks: Quirks
    messages: list[Turn]
    origins: Sequence[int]
    given: Mapping[str, Any]
    opened: bool


def _render_or_simplify(
    job: _Job, specs: tuple[Spec, ...], worded: tuple[str, ...] = ()
) -> tuple[str, str, tuple[str, ...]]:
    """The prompt, its tail, and the tools whose schemas had to be described in words."""
    given = dict(job.given)
    if specs or job.quirks.needs_tools:
        given["tools"] = [_tool_fields(spec, job.quirks) for spec in specs]
    try:
        return *_render(job, given), worded
    except EncodeError as error:
        names = []
        for spec in specs if not worded else ():
            try:
                job.template.render([_USER], tools=[_tool_fields(spec, job.quirks)])
            except EncodeError:
                names.append(spec.name)
        if not names:
            raise EncodeError(NAME, error.reason, where=_culprit(job, given, error)) from None
    simpler = tuple([_in_words(spec) if spec.name in names else spec for spec in specs])
    return _render_or_simplify(job, simpler, tuple(names))


def _render(job: _Job, given: Mapping[str, Any]) -> tuple[str, str]:
    render = job.template.render
    quirks = job.quirks
    if not job.opened:
        text = render(job.messages, add_generation_prompt=False, **given)
        if quirks.opens in ("always", "doubled"):
            text = text.removesuffix(quirks.tail)
        return text, ""
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
    if text.endswith(quirks.tail):
        return text, quirks.tail
    return text, ""


def _culprit(job: _Job, given: Mapping[str, Any], error: EncodeError) -> str:
    """The message that makes the template fail."""
    for count in range(1, min(len(job.messages), _MOST_TRIED) + 1):
        try:
            job.template.render(job.messages[:count], **given)
        except EncodeError as again:
            if again.reason == error.reason:
                at = job.origins[count - 1]
                if at >= 0:
                    return f"messages[{at}]"
                return "system"
    return ""


def _tool_fields(spec: Spec, quirks: Quirks) -> dict[str, Any]:
    """The tool in the form for templates."""
    description = spec.description
    if spec.examples:
        examples = "\n".join(dump(example) for example in spec.examples)
        description = f"{description}\n\nExamples of arguments:\n{examples}".strip()
    function = {"name": spec.name, "description": description, "parameters": spec.parameters}
    if quirks.flat_tools:
        return function
    return {"type": "function", "function": function}


def _in_words(spec: Spec) -> Spec:
    """The spec with properties of only a type and a description, which contains the rest."""
    parameters = spec.parameters
    simple = {}
    if isinstance(properties := parameters.get("properties"), Mapping):
        simple = {name: _simple(schema) for name, schema in properties.items()}
    plain = {"type": "object", "properties": simple, "required": []}
    required = parameters.get("required")
    if isinstance(required, list | tuple):
        plain["required"] = list(required)
    description = spec.description
    if definitions := {key: parameters[key] for key in _DEFINITIONS if key in parameters}:
        description = f"{description}\n\n{dump(definitions)}"
    return replace(spec, description=description, parameters=plain)


def _simple(schema: Any) -> JsonObject:
    if not isinstance(schema, Mapping):
        return {"type": "string", "description": "any JSON value"}
    kinds = schema.get("type")
    if isinstance(kinds, str):
        kinds = [kinds]
    kind = "string"
    if isinstance(kinds, list | tuple):
        kind = next((each for each in kinds if each in _PLAIN_TYPES), "string")
    rest = dict(schema)
    description = rest.pop("description", None)
    if not isinstance(description, str):
        description = ""
    if rest != {"type": kind}:
        description = f"{description} {dump(rest)}"
    return {"type": kind, **_PLAIN_TYPES[kind], "description": description.strip()}


def _neutral_schema(schema: Any, markers: Sequence[str]) -> Any:
    """The schema with its texts neutralised. Names and values stay: a model must write them exactly."""
    match schema:
        case Mapping():
            neutral = {}
            for key, each in schema.items():
                if key in _DESCRIBING and isinstance(each, str):
                    neutral[key] = neutralise(each, markers)
                else:
                    neutral[key] = _neutral_schema(each, markers)
            return neutral
        case list() | tuple():
            return [_neutral_schema(each, markers) for each in schema]
        case _:
            return schema
