"""A type into the tool that stands for an answer of that type."""

import inspect
from typing import Any

from msgspec import Struct
from pydantic import BaseModel

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.request import OutputMode
from rightcall.core.tool import Tool
from rightcall.declare.signature import describe_model, describe_parameters
from rightcall.errors import DeclarationError

ANSWER = "final_answer"

_PURPOSE = "Give the final answer. Call this once, when you have everything you need."


_AS_JSON = "Give your answer as JSON that fits this schema, and nothing else:\n{schema}"


def asked_in_words(system: str, schema: JsonObject) -> str:
    """The system text with a request for an answer of that form, for a model that only can be asked."""
    return f"{system}\n\n{_AS_JSON.format(schema=dump(schema))}".strip()


class Output(Struct, frozen=True, kw_only=True, eq=False):
    """How an answer is to be given, where the type alone does not say enough."""

    type: Any
    mode: OutputMode | None = None
    """How the model is held to it; what its profile says, unless given."""
    reasoning: bool = False
    """Ask for free text before the answer itself, for the model to think in."""
    retries: int = 2
    """How often a bad answer may be given back with what is wrong with it."""


class Form(Struct, frozen=True, eq=False):
    """An output as a tool, and how its arguments become the value."""

    output: Output
    tool: Tool
    wrapped: bool
    """The value is the member ``answer`` of the arguments, not their whole."""

    def value(self, bound: Any) -> Any:
        """The answer in a call's checked arguments."""
        return bound["answer"] if self.wrapped else bound


def form_of(output: Any) -> Form:
    """The form for a type, or for an Output that says more."""
    output = output if isinstance(output, Output) else Output(type=output)
    wanted = output.type
    if inspect.isclass(wanted) and issubclass(wanted, BaseModel) and not output.reasoning:
        described, wrapped = describe_model(ANSWER, wanted), False
        purpose = inspect.cleandoc(wanted.__doc__) if wanted.__doc__ else _PURPOSE
    else:
        parameters = {"answer": inspect.Parameter("answer", _BY_NAME, annotation=wanted)}
        if output.reasoning:
            thoughts = inspect.Parameter("reasoning", _BY_NAME, annotation=str)
            parameters = {"reasoning": thoughts, **parameters}
        meanings = {"reasoning": "Think here first, step by step."}
        described, wrapped, purpose = describe_parameters(ANSWER, parameters, meanings), True, _PURPOSE
    if output.retries < 0:
        raise DeclarationError(ANSWER, "retries must not be negative.", where="retries")
    tool = Tool(ANSWER, purpose, described.parameters, validator=described.validator, effect="pure")
    return Form(output, tool, wrapped)


_BY_NAME = inspect.Parameter.KEYWORD_ONLY
