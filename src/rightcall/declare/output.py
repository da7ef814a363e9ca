"""Makes the tool for a structured answer, from a type or a JSON Schema."""

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Concatenate, Literal, TypeAlias, TypedDict, Unpack, overload

from msgspec import Struct
from typing_extensions import TypeForm, TypeVar

from rightcall.core.jsontext import JsonObject, JsonValue, dump
from rightcall.core.options import TypeCheckedMeta, check_keywords
from rightcall.core.problem import Description
from rightcall.core.request import ANY_OBJECT, OutputMode, RequiredOutput
from rightcall.core.tool import Tool
from rightcall.declare.partial_output import PartialView, partial_view
from rightcall.declare.plain import describe_model, describe_parameters, is_model
from rightcall.errors import DeclarationError, UsageError

ANSWER = "final_answer"

T = TypeVar("T", default=dict[str, Any])

_AS_JSON = "Give your answer as JSON that fits this schema, and nothing else:\n{schema}"
_AS_OBJECT = "Give your answer as one JSON object, and nothing else."
_TYPES_TAKEN = (
    "It takes a type, as int, list[str], a dataclass or a pydantic model, or a JSON Schema as a dict; "
    "rc.Output(type, …) has more settings."
)
_PURPOSE = "Give the final answer. Call this once, when you have everything you need."

OnNoOutput: TypeAlias = Literal["raise", "return"]
"""What happens when a run ends without its output: NoOutput is raised, or ``result.output`` is None."""
OutputCheck: TypeAlias = Callable[Concatenate[T, ...], Any]
"""A function that checks an answer, and raises if it is not to be accepted. It may be async."""


def system_with_schema(system: str, schema: JsonObject) -> str:
    """The system text with a request for an answer of that form, for a model without other means."""
    words = _AS_JSON.format(schema=dump(schema))
    if schema == ANY_OBJECT:
        words = _AS_OBJECT
    return f"{system}\n\n{words}".strip()


class OutputSettings(Struct, frozen=True, kw_only=True, eq=False, metaclass=TypeCheckedMeta):
    """The type of a structured answer, with the settings that ``rc.Output`` was given."""

    type: Any = dict
    mode: OutputMode | None = None
    reasoning: bool = False
    retries: int = 2
    check: Callable[..., Any] | None = None
    on_no_output: OnNoOutput = "raise"


class OutputOptions(TypedDict, total=False):
    """What ``rc.Output`` takes beside the type."""

    mode: OutputMode | None
    reasoning: bool
    retries: int
    check: Callable[..., Any] | None
    on_no_output: OnNoOutput


# Options are typed once: of a call that fits none, type checkers print every overload with its options.
@overload
def Output(
    type: TypeForm[T] = ...,
    *,
    mode: OutputMode | None = None,
    reasoning: bool = False,
    retries: int = 2,
    check: OutputCheck[T] | None = None,
    on_no_output: Literal["raise"] = "raise",
) -> TypeForm[T]: ...
@overload
def Output(
    type: TypeForm[T] = ..., *, on_no_output: Literal["return"], **options: Any
) -> TypeForm[T | None]: ...
@overload
def Output(type: Mapping[str, Any], **options: Any) -> TypeForm[Any]: ...
@check_keywords("rc.Output")  # type: ignore[misc]  # the overloads take any options
def Output(type: Any = dict, **options: Unpack[OutputOptions]) -> Any:  # noqa: A002, N802
    """The type of a structured answer, with more settings than the type alone.

    To a type checker it is the type itself, so that ``result.output`` has that type.

    Args:
        type: The type, or a JSON Schema as a mapping: then the answer is plain JSON values. The default
            is any JSON object.
        mode: How it is enforced; the default comes from the model's profile. ``json`` is the vendors'
            JSON mode: the vendor enforces the syntax, and the prompt describes the type.
        reasoning: Ask for free text before the answer itself, for the model to think in.
        retries: How often an invalid answer goes back to the model with its errors.
        check: A function that gets the answer, and the run's Context if it takes two arguments. What it
            raises goes back to the model as an error; it may be async.
        on_no_output: What happens when a run ends without the output: ``"raise"`` NoOutput, or
            ``"return"`` the result with None for its output.
    """
    made = OutputSettings(type=type, **options)
    if made.retries < 0:
        raise DeclarationError("", "retries must not be negative.", where="output, retries")
    if made.check is not None:
        check_arity(made.check)
    return made


def check_arity(check: object) -> None:
    """Raise UsageError for what cannot be called with an answer, or an answer and the run's Context."""
    if not callable(check):
        kind = type(check).__name__
        raise UsageError(f"an output is checked by a function, and not by {kind}")
    try:
        signature = inspect.signature(check)
    except (TypeError, ValueError):
        # Some that are written in C do not say what they take.
        return
    for count in (1, 2):
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return
    name = getattr(check, "__qualname__", repr(check))
    raise UsageError(
        f"the output's check {name}{signature} cannot be called: a check takes the answer, or the "
        "answer and the run's Context"
    )


class AnswerForm(Struct, frozen=True, eq=False):
    """An output type as a tool, and how its arguments become the value."""

    output: OutputSettings
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

    @property
    def view(self) -> PartialView:
        """How an answer is shown while it is written."""
        show = partial_view(self.output.type)
        if not self.wrapped:
            return show

        def show_wrapped(value: JsonValue) -> Any:
            if isinstance(value, dict) and "answer" in value:
                return show(value["answer"])
            return None

        return show_wrapped


def form_of(output: Any) -> AnswerForm:
    """The form for a type, or for an Output."""
    if not isinstance(output, OutputSettings):
        output = OutputSettings(type=output)
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


def _form_of_type(output: OutputSettings) -> AnswerForm:
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


def _form_of_schema(output: OutputSettings, schema: JsonObject) -> AnswerForm:
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
