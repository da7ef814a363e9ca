import functools
import inspect
from typing import Annotated, Any, Optional

import pytest

import rightcall as rc
from rightcall.core.handler import Context, inspect_handler, unwrap
from rightcall.errors import UsageError

CONTEXT = rc.Context(call_id="c1", tool="t", dependencies=None)


def plain(a, b=2, *, c=3):
    return a, b, c


async def awaited(a):
    return a


def starting(a):
    return awaited(a)


def positional(a=1, b=2, /, c=3):
    return a, b, c


def with_context(a, context: rc.Context):
    return a, context


def context_in_the_middle(a, context: rc.Context, b=2, /):
    return a, context, b


def everything(**arguments):
    return arguments


class Counter:
    def method(self, a):
        return a

    @classmethod
    def made(cls, a):
        return cls, a

    def __call__(self, a):
        return "called", a


class AsyncCounter:
    async def __call__(self, a):
        return a


@pytest.mark.parametrize(
    ("function", "bound", "result"),
    [
        (plain, {"a": 1}, (1, 2, 3)),
        (plain, {"c": 9, "a": 1, "b": 8}, (1, 8, 9)),
        (positional, {}, (1, 2, 3)),
        (positional, {"a": 7, "b": 8, "c": 9}, (7, 8, 9)),
        (positional, {"b": 8}, (1, 8, 3)),
        (with_context, {"a": 1}, (1, CONTEXT)),
        (context_in_the_middle, {"a": 1}, (1, CONTEXT, 2)),
        (context_in_the_middle, {"b": 5, "a": 1}, (1, CONTEXT, 5)),
        (everything, {"a": 1, "context": 2}, {"a": 1, "context": 2}),
        (functools.partial(plain, b=9), {"a": 1}, (1, 9, 3)),
        (functools.partial(positional, 9), {"b": 8}, (9, 8, 3)),
        (functools.partial(with_context, context="mine"), {"a": 1}, (1, "mine")),
        (Counter().method, {"a": 1}, 1),
        (Counter.made, {"a": 1}, (Counter, 1)),
        (Counter(), {"a": 1}, ("called", 1)),
    ],
)
def test_a_function_gets_its_arguments_however_it_takes_them(function, bound, result):
    given = dict(bound)
    assert inspect_handler(function)[0].call(bound, CONTEXT) == result
    assert bound == given


@pytest.mark.parametrize(
    ("function", "is_async"),
    [
        (plain, False),
        (awaited, True),
        (functools.partial(awaited), True),
        (functools.partial(functools.partial(plain)), False),
        (Counter(), False),
        (AsyncCounter(), True),
        (AsyncCounter().__call__, True),
        (functools.wraps(awaited)(starting), False),
    ],
)
def test_it_is_known_whether_a_function_is_awaited(function, is_async):
    assert inspect_handler(function)[0].is_async is is_async


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (plain, ["a", "b", "c"]),
        (positional, ["a", "b", "c"]),
        (with_context, ["a"]),
        (context_in_the_middle, ["a", "b"]),
        (functools.partial(plain, b=9), ["a", "c"]),
        (functools.partial(plain, 1), ["b", "c"]),
        (functools.partial(functools.partial(plain, c=0), b=0), ["a"]),
        (functools.partial(with_context, context="mine"), ["a"]),
        (Counter().method, ["a"]),
        (Counter.method, ["self", "a"]),
        (Counter.made, ["a"]),
        (Counter(), ["a"]),
        (functools.wraps(plain)(everything), ["a", "b", "c"]),
    ],
)
def test_what_is_left_for_the_model_is_everything_that_is_not_bound_or_context(function, names):
    assert list(inspect_handler(function)[1]) == names


@pytest.mark.parametrize(
    "annotation",
    [
        rc.Context,
        rc.Context[int],
        Annotated[rc.Context, "note"],
        Annotated[rc.Context[str], "note"],
        Optional[rc.Context],  # noqa: UP045 - the older spelling is meant
        rc.Context[int] | None,
        "rc.Context",
        "rc.Context[int] | None",
    ],
    ids=str,
)
def test_a_parameter_for_the_context_is_known_by_its_annotation(annotation):
    def function(a: int, about=None):
        return a, about

    function.__annotations__["about"] = annotation
    handler, parameters = inspect_handler(function)
    assert (handler.context, list(parameters)) == ("about", ["a"])
    assert handler.call({"a": 1}, CONTEXT) == (1, CONTEXT)


def test_a_parameter_that_only_is_called_context_is_the_models():
    def function(context: str):
        return context

    handler, parameters = inspect_handler(function)
    assert (handler.context, list(parameters)) == (None, ["context"])


def test_many_contexts_at_once_are_not_filled_in():
    def function(*contexts: rc.Context, **more: rc.Context):
        return contexts, more

    handler, parameters = inspect_handler(function)
    assert (handler.context, list(parameters)) == (None, ["contexts", "more"])


def test_annotations_are_looked_up_in_the_module_and_the_namespace_and_else_stay_text():
    def function(a: "Annotated[int, 1]", b: "Nearby", c: "Nowhere", d: "1 +", e: "list[Nowhere]"):  # noqa: F722, F821
        return a, b, c, d, e

    found = inspect_handler(function, {"Nearby": bytes})[1]
    assert {name: parameter.annotation for name, parameter in found.items()} == {
        "a": Annotated[int, 1],
        "b": bytes,
        "c": "Nowhere",
        "d": "1 +",
        "e": "list[Nowhere]",
    }


def test_a_wrapped_function_keeps_its_annotations():
    def inner(a: "Nearby") -> Any:  # noqa: F821
        return a

    wrapped = functools.wraps(inner)(everything)
    assert inspect_handler(wrapped, {"Nearby": bytes})[1]["a"].annotation is bytes


@pytest.mark.parametrize("function", [dict, int, max])
def test_a_signature_that_python_cannot_tell_is_an_error(function):
    with pytest.raises(ValueError, match="no signature found"):
        inspect_handler(function)


def test_the_plain_function_is_found_behind_what_wraps_it():
    counter = Counter()
    assert unwrap(plain) is plain
    assert unwrap(functools.partial(functools.partial(plain, 1), b=1)) is plain
    assert unwrap(counter) is Counter.__call__
    assert unwrap(Counter) is Counter
    assert unwrap(functools.partial(counter)) is Counter.__call__
    assert inspect.ismethod(unwrap(counter.method))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (("half",), "done is a number, and not 'half'; words go into text"),
        ((1, "two"), "total is a number"),
        ((1, 2, 3), "text is words, and not int"),
    ],
)
def test_progress_that_is_none_is_refused_in_words(said, words):
    told = []
    context = Context(call_id="c", tool="t", dependencies=None, tell=told.append)
    context.progress(1, 2.5, "half")
    with pytest.raises(UsageError, match=words):
        context.progress(*said)
    assert len(told) == 1
