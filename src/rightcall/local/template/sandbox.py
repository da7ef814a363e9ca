"""Compile a chat template's text into something that can be rendered, in a sandbox.

The environment is the one that Hugging Face's templates are written for: ``raise_exception``,
``strftime_now``, a ``tojson`` that escapes nothing, ``break`` and ``continue``, ``{% generation %}``,
blocks that leave no white space behind. What a template can reach and what it can cost is bounded.
"""

import functools
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from types import BuiltinMethodType
from typing import Any, NoReturn, TypeAlias

from jinja2 import Template, nodes, pass_context
from jinja2.exceptions import SecurityError, TemplateError, TemplateSyntaxError
from jinja2.ext import Extension
from jinja2.ext import loopcontrols as LoopControls  # noqa: N812 - it is a class
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from rightcall.errors import UsageError
from rightcall.local.template import render_bounds as bounds

Clock: TypeAlias = Callable[[], datetime]

_BINARY = {
    "+": bounds.add,
    "*": bounds.multiply,
    "**": bounds.power,
    "%": bounds.remainder,
}
_PASSING, _JOINED = "_passing", "_joined"
"""Filters that are put into a template where it goes around a loop, and for ``~``. A filter is called
without a detour through the sandbox."""
_WIDE = {"center", "expandtabs", "ljust", "rjust", "to_bytes", "zfill"}
"""Methods of texts, bytes and numbers that take a width."""


class Refused(TemplateError):
    """The template said no, with ``raise_exception``."""


class Sandbox(ImmutableSandboxedEnvironment):
    """Where chat templates are rendered."""

    intercepted_binops = frozenset(_BINARY)
    concat = staticmethod(bounds.join)

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[Generation, LoopControls],
            finalize=_show,
            # Nothing is worked out while compiling, where nothing is counted.
            optimized=False,
        )
        self.binop_table.update(_BINARY)
        self.filters |= {name: _guarded(self.filters[name], check) for name, check in _FILTERS.items()}
        self.filters |= {"tojson": to_json, _PASSING: _pass, _JOINED: _join}
        self.globals |= {
            "raise_exception": refuse,
            "strftime_now": strftime(datetime.now),
            "dict": _Dict(),
            "namespace": _Namespace,
        }
        # Latin filler, of any length that is asked for.
        del self.globals["lipsum"]

    def call(self, context: Context, called: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what the template calls."""
        bounds.tick()
        if isinstance(called, BuiltinMethodType) and isinstance(called.__self__, str | bytes | int):
            _check_method(called.__self__, called.__name__, (*args, *kwargs.values()))
        return super().call(context, called, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """``str.format``, without its way into attributes and without long widths."""
        wrapped = super().wrap_str_format(value)
        if wrapped is None:
            return None

        @functools.wraps(wrapped)
        def checked(*args: Any, **kwargs: Any) -> str:
            bounds.check_format(value.__self__, (*args, *kwargs.values()))
            return wrapped(*args, **kwargs)

        return checked


class Generation(Extension):
    """``{% generation %}…{% endgeneration %}`` marks what a model wrote, for training; here its body."""

    tags = {"generation"}  # noqa: RUF012 - as the class above declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """The block's body, in a scope of its own."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


class _Dict:
    """What ``dict`` is to a template: no class, which would lead to others."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args)


class _Namespace(Namespace):
    """A namespace without private members, which the sandbox would not look at."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        # No parameter is named, so that ``self`` can be a member's name.
        members = dict(*args[1:], **kwargs)
        for name in members:
            _check_member(name)
        Namespace.__init__(args[0], members)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_member(name)
        super().__setitem__(name, value)


def strftime(clock: Clock) -> Callable[[str], str]:
    """What a template reads the time with."""
    return lambda form: clock().strftime(form)


def refuse(message: object) -> NoReturn:
    """What a template calls ``raise_exception``."""
    raise Refused(str(message))


def to_json(
    value: Any,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 - templates pass them by position
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002
) -> str:
    """JSON as models are trained on it: nothing escaped for HTML, keys in their order."""
    bounds.weigh(value)
    bounds.check_width(indent)
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


@functools.lru_cache(maxsize=64)
def compile_template(text: str) -> Template:
    """The template, ready to be rendered, or a UsageError that says what is wrong with it."""
    if len(text) > bounds.LONGEST_TEMPLATE:
        raise UsageError(
            f"the chat template is {len(text):,} characters long; "
            f"more than {bounds.LONGEST_TEMPLATE:,} are not read"
        )
    sandbox = Sandbox()
    try:
        return sandbox.from_string(_watched(sandbox.parse(text)))
    except TemplateSyntaxError as error:
        where = f"line {error.lineno}: {error.message}"
        raise UsageError(f"the chat template is broken at {where}") from None
    except (TemplateError, SyntaxError, RecursionError, ValueError, TypeError, MemoryError) as error:
        why = str(error) or type(error).__name__
        raise UsageError(f"the chat template cannot be compiled: {why}") from None


@functools.lru_cache(maxsize=64)
def variables_of(text: str) -> frozenset[str]:
    """The names a template reads: messages, tools, switches, and what it sets itself."""
    names = Sandbox().parse(text).find_all(nodes.Name)
    return frozenset([name.name for name in names if name.ctx == "load"])


def _watched(tree: nodes.Template) -> nodes.Template:
    """The same template, where loops look at the clock and ``~`` at the size of what it joins.

    Jinja lets a sandbox intercept calls, attributes and most operators, but compiles ``for`` and ``~``
    to plain Python: nested empty loops would run for hours, and ``a ~ a`` in a loop doubles each time,
    with nothing of ours ever called. So the tree is changed before it is compiled.
    """
    # As a filter, because the compiler binds filters when a template begins and calls them directly; a
    # call would pass through ``Sandbox.call`` each time round.
    for loop in tree.find_all(nodes.For):
        passing = _filter(_PASSING, [nodes.Const(None)], loop)
        loop.body.insert(0, nodes.ExprStmt(passing, lineno=loop.lineno))
    # A node does not know its parent, so each is looked at for children that are to be replaced; the
    # innermost first, because the filter that replaces a ``~`` takes the operands over as they are then.
    for parent in reversed(list(tree.find_all(nodes.Node))):
        for name, value in list(parent.iter_fields()):
            if isinstance(value, nodes.Concat):
                setattr(parent, name, _filter(_JOINED, value.nodes, value))
            elif isinstance(value, list):
                value[:] = [
                    _filter(_JOINED, each.nodes, each) if isinstance(each, nodes.Concat) else each
                    for each in value
                ]
    # The new nodes have no environment yet, and the compiler asks each for its own.
    tree.set_environment(tree.environment)  # type: ignore[arg-type]
    return tree


def _filter(name: str, given: list[nodes.Expr], at: nodes.Node) -> nodes.Filter:
    first, *rest = given
    return nodes.Filter(first, name, rest, [], None, None, lineno=at.lineno)


def _pass(_: None) -> None:
    bounds.tick()


def _join(*values: Any) -> str:
    return bounds.join(map(str, values))


@pass_context
def _show(_: Context, value: Any) -> Any:
    # It takes the context only so that it is not called while compiling.
    if isinstance(value, list | dict | tuple | bytes):
        bounds.weigh(value)
    return value


def _check_member(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace takes no member that begins with an underscore: {name!r}")


def _check_method(text: str | bytes | int, name: str, arguments: tuple[Any, ...]) -> None:
    if name in _WIDE:
        bounds.check_width(*arguments)
    elif name == "replace" and len(arguments) > 1:
        bounds.check_replace(text, arguments[0], arguments[1])
    elif name == "join" and arguments:
        bounds.check_join(text, arguments[0])


def _guarded(filter_function: Callable[..., Any], check: Callable[..., object]) -> Callable[..., Any]:
    """A filter that is not reached if its arguments do not pass. What Jinja reads off it stays."""
    skips = 1 if hasattr(filter_function, "jinja_pass_arg") else 0

    @functools.wraps(filter_function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        check(*args[skips:], *kwargs.values())
        return filter_function(*args, **kwargs)

    return guarded


def _check_rounding(_: object, precision: object = 0, *_more: object) -> None:
    if isinstance(precision, int) and abs(precision) > bounds.FINEST_ROUNDING:
        raise bounds.Exceeded(f"it rounds to {precision} decimal places")


def _check_separated(values: object, separator: object = "", *_: object) -> None:
    bounds.check_join(separator, values)


def _check_replaced(text: object, old: object = "", new: object = "", *_: object) -> None:
    bounds.check_replace(text, old, new)


def _check_formatted(text: object, *values: object) -> None:
    bounds.check_format(str(text), values)


def _check_rest(_: object, *arguments: object) -> None:
    bounds.check_width(*arguments)


_FILTERS: Mapping[str, Callable[..., object]] = {
    "batch": _check_rest,
    "center": _check_rest,
    "format": _check_formatted,
    "indent": _check_rest,
    "join": _check_separated,
    "replace": _check_replaced,
    "round": _check_rounding,
    "slice": _check_rest,
    "string": bounds.weigh,
}
"""Filters that can make much out of little, and what is looked at before."""
