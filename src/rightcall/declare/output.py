"""Makes the tool for a structured answer, from a type or a JSON Schema."""

import inspect
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.options import Worded
from rightcall.core.request import ANY_OBJECT, OutputMode, Wanted
from rightcall.core.tool import Tool
from rightcall.declare.parameters import describe_model, describe_parameters, is_model
from rightcall.errors import DeclarationError

ANSWER = "final_answer"

_AS_JSON = "Give your answer as JSON that fits this schema, and nothing else:\n{schema}"
_AS_OBJECT = "Give your answer as one JSON object, and nothing else."
_PURPOSE = "Give the final answer. Call this once, when you have everything you need."


def asked_in_words(system: str, schema: JsonObject) -> str:
    """The system text with a request for an answer of that form, for a model without other means."""
    words = _AS_OBJECT if schema == ANY_OBJECT else _AS_JSON.format(schema=dump(schema))
    return f"{system}\n\n{words}".strip()


class _Typed(Struct, frozen=True, eq=False, metaclass=Worded):
    type: Any = dict
    """The type, or a JSON Schema as a mapping: then the answer is plain JSON values. The default is any
    JSON object."""


class Output(_Typed, frozen=True, kw_only=True, eq=False):
    """The type of a structured answer, with more settings than the type alone."""

    mode: OutputMode | None = None
    """How it is enforced; the default comes from the model's profile. ``json`` is the vendors' JSON
    mode: the vendor enforces the syntax, and the prompt describes the type."""
    reasoning: bool = False
    """Ask for free text before the answer itself, for the model to think in."""
    retries: int = 2
    """How often an invalid answer goes back to the model with its errors."""


class Form(Struct, frozen=True, eq=False):
    """An output type as a tool, and how its arguments become the value."""

    output: Output
    tool: Tool
    wrapped: bool
    """Whether the value is the field ``answer`` of the arguments, and not the whole object."""

    def value(self, bound: Any) -> Any:
        """The answer in a call's validated arguments."""
        return bound["answer"] if self.wrapped else bound

    def wanted(self, mode: OutputMode) -> Wanted:
        """The requirement for a run's end, with this way of enforcing it."""
        schema, retries = self.tool.parameters, self.output.retries
        return Wanted(tool=self.tool.name, mode=mode, schema=schema, retries=retries)


def form_of(output: Any) -> Form:
    """The form for a type, or for an Output."""
    output = output if isinstance(output, Output) else Output(type=output)
    wanted = output.type
    if output.retries < 0:
        raise DeclarationError(ANSWER, "retries must not be negative.", where="retries")
    if isinstance(wanted, Mapping):
        return _form_of_schema(output, wanted)
    if wanted is dict and output.mode == "json" and not output.reasoning:
        return Form(output, Tool(ANSWER, _PURPOSE, ANY_OBJECT, effect="pure"), wrapped=False)
    if is_model(wanted) and not output.reasoning:
        described, wrapped = describe_model(ANSWER, wanted), False
        purpose = inspect.cleandoc(wanted.__doc__) if wanted.__doc__ else _PURPOSE
    else:
        parameters = {"answer": inspect.Parameter("answer", _BY_NAME, annotation=wanted)}
        if output.reasoning:
            thoughts = inspect.Parameter("reasoning", _BY_NAME, annotation=str)
            parameters = {"reasoning": thoughts, **parameters}
        meanings = {"reasoning": "Think here first, step by step."}
        described, wrapped, purpose = describe_parameters(ANSWER, parameters, meanings), True, _PURPOSE
    tool = Tool(ANSWER, purpose, described.parameters, validator=described.validator, effect="pure")
    return Form(output, tool, wrapped)


def _form_of_schema(output: Output, schema: JsonObject) -> Form:
    """The form for a JSON Schema. Arguments are an object, so any other type is wrapped in one."""
    if output.reasoning:
        raise DeclarationError(ANSWER, "a schema says itself what is to be written.", where="reasoning")
    is_object = schema.get("type") == "object"
    if not is_object:
        inner = {name: value for name, value in schema.items() if name not in _AT_THE_ROOT}
        schema = {
            **{name: schema[name] for name in _AT_THE_ROOT if name in schema},
            "type": "object",
            "properties": {"answer": inner},
            "required": ["answer"],
            "additionalProperties": False,
        }
    title = schema.get("description")
    purpose = title if isinstance(title, str) and title else _PURPOSE
    return Form(output, Tool(ANSWER, purpose, schema, effect="pure"), wrapped=not is_object)


_BY_NAME = inspect.Parameter.KEYWORD_ONLY
_AT_THE_ROOT = ("$schema", "$defs", "definitions")
"""Keywords that references from the root point into, and that must stay at the root."""
