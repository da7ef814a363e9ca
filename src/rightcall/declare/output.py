"""Makes the tool for a structured answer, from a type or a JSON Schema."""

import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.options import TypeCheckedMeta
from rightcall.core.problem import Description
from rightcall.core.request import ANY_OBJECT, OutputMode, RequiredOutput
from rightcall.core.tool import Tool
from rightcall.declare.plain import describe_model, describe_parameters, is_model
from rightcall.errors import DeclarationError

ANSWER = "final_answer"

_AS_JSON = "Give your answer as JSON that fits this schema, and nothing else:\n{schema}"
_AS_OBJECT = "Give your answer as one JSON object, and nothing else."
_TYPES_TAKEN = (
    "It takes a type, as int, list[str], a dataclass or a pydantic model, or a JSON Schema as a dict; "
    "rc.Output(type, …) has more settings."
)
_PURPOSE = "Give the final answer. Call this once, when you have everything you need."


def system_with_schema(system: str, schema: JsonObject) -> str:
    """The system text with a request for an answer of that form, for a model without other means."""
    words = _AS_JSON.format(schema=dump(schema))
    if schema == ANY_OBJECT:
        words = _AS_OBJECT
    return f"{system}\n\n{words}".strip()


class _Typed(Struct, frozen=True, eq=False, metaclass=TypeCheckedMeta):
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


class AnswerForm(Struct, frozen=True, eq=False):
    """An output type as a tool, and how its arguments become the value."""

    output: Output
    tool: Tool
    wrapped: bool
    """Whether the value is the field ``answer`` of the arguments, and not the whole object."""

    def value(self, bound: Any) -> Any:
        """The answer in a call's validated arguments."""
        if self.wrapped:
            return bound["answer"]
        return bound

    def required_output(self, mode: OutputMode) -> RequiredOutput:
        """The requirement for a run's end, with this way of enforcing it."""
        return RequiredOutput(
            tool=self.tool.name, mode=mode, schema=self.tool.parameters, retries=self.output.retries
        )


def form_of(output: Any) -> AnswerForm:
    """The form for a type, or for an Output."""
    if not isinstance(output, Output):
        output = Output(type=output)
    try:
        return _form_of_type(output)
    except DeclarationError as error:
        # The developer wrote no tool: they are told of what they wrote.
        if error.where in ("retries", "reasoning"):
            raise DeclarationError("", error.reason, where=f"output, {error.where}") from error
        reason = error.reason.replace("the annotation ", "").replace("parameter 'answer': ", "")
        if isinstance(output.type, str):
            reason = f"{output.type!r} is a text, and not a type."
        raise DeclarationError("", reason, where="output", fix=_TYPES_TAKEN) from error


def _form_of_type(output: Output) -> AnswerForm:
    wanted = output.type
    if output.retries < 0:
        raise DeclarationError(ANSWER, "retries must not be negative.", where="retries")
    if isinstance(wanted, Mapping):
        return _form_of_schema(output, wanted)
    if wanted is dict and output.mode == "json" and not output.reasoning:
        return AnswerForm(output, Tool(ANSWER, _PURPOSE, ANY_OBJECT, effect="pure"), wrapped=False)
    wrapped = output.reasoning or not is_model(wanted)
    purpose = _PURPOSE
    if not wrapped:
        purpose = inspect.cleandoc(wanted.__doc__ or _PURPOSE)
    if isinstance(wanted, type):
        rebuilt = getattr(wanted, "__pydantic_validator__", None)
        described = _describe_class(wanted, reasoning=output.reasoning, rebuilt=rebuilt)
    else:
        # Types such as ``int | str`` and ``str | int`` are equal, and not the same to a model.
        described = _describe(wanted, reasoning=output.reasoning)
    tool = Tool(ANSWER, purpose, described.parameters, validator=described.validator, effect="pure")
    return AnswerForm(output, tool, wrapped)


def _describe(wanted: Any, *, reasoning: bool) -> Description:
    if is_model(wanted) and not reasoning:
        return describe_model(ANSWER, wanted)
    parameters = {"answer": inspect.Parameter("answer", _BY_NAME, annotation=wanted)}
    if reasoning:
        thoughts = inspect.Parameter("reasoning", _BY_NAME, annotation=str)
        parameters = {"reasoning": thoughts, **parameters}
    return describe_parameters(ANSWER, parameters, {"reasoning": "Think here first, step by step."})


@lru_cache(maxsize=128)
def _describe_class(wanted: type, *, reasoning: bool, rebuilt: object) -> Description:  # noqa: ARG001
    """The same of a class, kept, since it takes longer than all else of an agent that has an output.

    A model of pydantic's has another validator when it is ``rebuilt``, and is described anew.
    """
    return _describe(wanted, reasoning=reasoning)


def _form_of_schema(output: Output, schema: JsonObject) -> AnswerForm:
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
    purpose = schema.get("description")
    if not isinstance(purpose, str) or not purpose:
        purpose = _PURPOSE
    return AnswerForm(output, Tool(ANSWER, purpose, schema, effect="pure"), wrapped=not is_object)


_BY_NAME = inspect.Parameter.KEYWORD_ONLY
_AT_THE_ROOT = ("$schema", "$defs", "definitions")
"""Keywords that references from the root point into, and that must stay at the root."""
