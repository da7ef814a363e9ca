"""Compiles a chat template for rendering, in a sandbox.

The environment is the one that Hugging Face's templates are written for: ``raise_exception``,
``strftime_now``, a ``tojson`` that escapes nothing, ``break`` and ``continue``, ``{% generation %}``,
blocks that leave no white space behind. A template's access and its cost are limited.
"""

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from types import BuiltinMethodType, MethodType
from typing import Any, NoReturn, TypeAlias, cast

from jinja2 import Template, nodes, pass_context
from jinja2.exceptions import SecurityError, TemplateError, TemplateSyntaxError
from jinja2.ext import Extension
from jinja2.ext import loopcontrols as LoopControls  # noqa: N812 - it is a class
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from rightcall.errors import UsageError
from rightcall.local.template import growth
from rightcall.local.template.render_bounds import LONGEST_TEMPLATE, charge, charge_all, tick

Clock: TypeAlias = Callable[[], datetime]

_BINARY = {
    "+": growth.add,
    "*": growth.multiply,
    "**": growth.power,
    "%": growth.remainder,
    "-": growth.subtract,
    "//": growth.divide,
}
_PASSING, _JOINED, _CUT, _LITERAL, _COMPARED = "_passing", "_joined", "_cut", "_literal", "_compared"
_GATHERED = "_gathered"
"""Filters that are inserted into a template around loops, for ``~`` and for slices, and around what it
builds and compares. A filter is called directly, not through the sandbox."""
_CALLED, _GIVEN, _WRITTEN = 256, 128, 64
"""Bytes that a call, an argument and a written value may leave behind, besides what is counted."""
_METHODS = (BuiltinMethodType, MethodType)
_ESCAPED = 24
"""The most bytes that an escaped character takes."""


class Refused(TemplateError):
    """The template refused, with ``raise_exception``."""


class Sandbox(ImmutableSandboxedEnvironment):
    """The Jinja environment of chat templates."""

    intercepted_binops = frozenset(_BINARY)
    intercepted_unops = frozenset("-")
    concat = staticmethod(growth.join)

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[Generation, LoopControls],
            finalize=_show,
            # Nothing is evaluated while compiling, where nothing is counted.
            optimized=False,
        )
        self.binop_table.update(_BINARY)
        self.unop_table["-"] = growth.negate
        self.filters = {name: _guarded(name, each) for name, each in self.filters.items()}
        self.filters |= {
            "tojson": to_json,
            _PASSING: tick,
            _JOINED: _join,
            _CUT: growth.cut,
            _LITERAL: growth.literal,
            _COMPARED: growth.comparable,
            _GATHERED: growth.gathered,
        }
        self.tests |= {
            name: _weighing(cast("Callable[..., Any]", self.tests[name])) for name in growth.TESTS
        }
        self.globals |= {
            "raise_exception": refuse,
            "strftime_now": strftime(datetime.now),
            "dict": _Dict(),
            "namespace": _Namespace,
        }
        # Latin filler, of any requested length.
        del self.globals["lipsum"]

    def call(self, context: Context, called: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Make a call for the template."""
        tick(_CALLED + _GIVEN * (len(args) + len(kwargs)))
        of = getattr(called, "__self__", None) if isinstance(called, _METHODS) else None
        if isinstance(of, LoopContext):
            args = tuple(map(growth.comparable, args))
        elif isinstance(called, LoopContext):
            args = tuple(map(growth.gathered, args))
        elif isinstance(of, str | bytes | int | list | tuple):
            args = growth.check_method(of, called.__name__, (*args, *kwargs.values()))[: len(args)]
        result = charge_all(super().call(context, called, *args, **kwargs))
        growth.taken_apart(of, result)
        return result

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """``str.format``, without access to attributes and without large widths."""
        wrapped = super().wrap_str_format(value)
        if wrapped is None:
            return None

        @functools.wraps(wrapped)
        def checked(*args: Any, **kwargs: Any) -> str:
            growth.check_format(value.__self__, (*args, *kwargs.values()))
            return wrapped(*args, **kwargs)

        return checked


class Generation(Extension):
    """``{% generation %}…{% endgeneration %}`` marks a model's text, for training; here its body."""

    tags = {"generation"}  # noqa: RUF012 - as the class above declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """The block's body, in a scope of its own."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


class _Dict:
    """The ``dict`` of a template: not a class, which would give access to others."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args)


class _Namespace(Namespace):
    """A namespace without private attributes, which the sandbox would not check."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        # No named parameter, so that ``self`` can be an attribute's name.
        members = dict(*args[1:], **kwargs)
        for name in members:
            _check_member(name)
        Namespace.__init__(args[0], charge(members))

    def __setitem__(self, name: str, value: Any) -> None:
        _check_member(name)
        super().__setitem__(name, value)


def strftime(clock: Clock) -> Callable[[str], str]:
    """A template's clock."""
    return lambda form: clock().strftime(growth.check_date(form))


def refuse(message: object) -> NoReturn:
    """A template's ``raise_exception``."""
    raise Refused(growth.written(message))


def to_json(
    value: Any,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 - templates pass them by position
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002
) -> str:
    """JSON as models are trained on it: no HTML escapes, keys in their order."""
    growth.check_json(value, indent, separators)
    text: str = charge(
        json.dumps(
            value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
        )
    )
    return text


@functools.lru_cache(maxsize=64)
def compile_template(text: str) -> Template:
    """The compiled template. Raises a UsageError that says what is wrong with it."""
    if len(text) > LONGEST_TEMPLATE:
        raise UsageError(
            f"the chat template is {len(text):,} characters long; "
            f"more than {LONGEST_TEMPLATE:,} are not read"
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
    """The variables that a template reads: messages, tools, switches, and what it sets itself."""
    names = Sandbox().parse(text).find_all(nodes.Name)
    return frozenset([name.name for name in names if name.ctx == "load"])


@functools.lru_cache(maxsize=64)
def fixed_opening(text: str) -> str | None:
    """The text with which a template opens the model's turn on request, always at its end.

    None if that may depend on the conversation.
    """
    tree = Sandbox().parse(text)
    asked = [name for name in tree.find_all(nodes.Name) if name.name == "add_generation_prompt"]
    match tree.body[-1:]:
        case [nodes.If(test=nodes.Name() as test, body=body, elif_=[], else_=[])] if asked == [test]:
            return _constant(body)
    return None


def _constant(body: Sequence[nodes.Node]) -> str | None:
    """The text that some nodes always write; None if it is not known before they run."""
    written: list[str] = []
    for each in body:
        parts = each.nodes if isinstance(each, nodes.Output) else [each]
        for part in parts:
            match part:
                case nodes.TemplateData(data=str(text)) | nodes.Const(value=str(text)):
                    written.append(text)
                case _:
                    return None
    return "".join(written)


def _watched(tree: nodes.Template) -> nodes.Template:
    """The same template, in which loops check the deadline and what is built and compared is counted.

    Jinja lets a sandbox intercept calls, attributes and most operators, but compiles ``for``, ``~``,
    slices, lists and comparisons to plain Python: nested empty loops would run for hours, and ``a ~ a``
    in a loop doubles each time, without any call of our code. So the tree is changed before it is
    compiled.
    """
    # As a filter, because the compiler binds filters when a template begins and calls them directly; a
    # call would pass through ``Sandbox.call`` in each iteration.
    bodies = tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock))
    for loop in cast("Iterator[nodes.For | nodes.Macro | nodes.CallBlock]", bodies):
        size = _WRITTEN * (1 + sum(len(each.nodes) for each in loop.find_all(nodes.Output)))
        passing = _filter(_PASSING, [nodes.Const(size)], loop)
        loop.body.insert(0, nodes.ExprStmt(passing, lineno=loop.lineno))
        if isinstance(loop, nodes.For):
            # ``loop.length`` iterates a lazy value once more, and keeps it.
            loop.iter = _filter(_GATHERED, [cast("nodes.Expr", loop.iter)], loop)
    # A node does not know its parent, so each is searched for children to replace; the innermost first,
    # because the filter that replaces a ``~`` takes over the operands as they are then.
    for parent in reversed(list(tree.find_all(nodes.Node))):
        for name, value in list(parent.iter_fields()):
            if isinstance(value, nodes.Node):
                setattr(parent, name, _counted(value))
            elif isinstance(value, list):
                value[:] = [_counted(each) if isinstance(each, nodes.Node) else each for each in value]
    # The new nodes have no environment yet, and the compiler needs it on each.
    tree.set_environment(tree.environment)  # type: ignore[arg-type]
    return tree


def _counted(node: nodes.Node) -> nodes.Node:
    """The replacement of a node, if it builds something that Jinja does not let us intercept."""
    match node:
        case nodes.Concat():
            return _filter(_JOINED, node.nodes, node)
        case nodes.Getitem(arg=nodes.Slice(start=start, stop=stop, step=step)):
            ends = [nodes.Const(None) if each is None else each for each in (start, stop, step)]
            return _filter(_CUT, [node.node, *ends], node)
        case nodes.List(items=[_, *_]) | nodes.Dict(items=[_, *_]):
            return _filter(_LITERAL, [node], node)
        case nodes.Tuple(ctx="load", items=items) if not all(isinstance(x, nodes.Const) for x in items):
            return _filter(_LITERAL, [node], node)
        case nodes.Compare(ops=[nodes.Operand(expr=nodes.Const())]) | nodes.Compare(expr=nodes.Const()):
            # With a single text or number on either side there is little to compare.
            return node
        case nodes.Compare():
            node.expr = _filter(_COMPARED, [node.expr], node)
            for each in node.ops:
                each.expr = _filter(_COMPARED, [each.expr], node)
            return node
        case _:
            return node


def _filter(name: str, given: list[nodes.Expr], at: nodes.Node) -> nodes.Filter:
    first, *rest = given
    return nodes.Filter(first, name, rest, [], None, None, lineno=at.lineno)


def _join(*values: Any) -> str:
    return growth.join(map(growth.written, values))


@pass_context
def _show(context: Context, value: Any) -> str:
    # It takes the context also to keep Jinja from evaluating it while compiling.
    text: str = value if isinstance(value, str) else charge(growth.written(value))
    if context.eval_ctx.autoescape:
        tick(_ESCAPED * len(text))
    return text


def _check_member(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace takes no member that begins with an underscore: {name!r}")


def _guarded(name: str, filter_function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that runs only if its arguments pass the check. Jinja's attributes on it are kept."""
    skips = 1 if hasattr(filter_function, "jinja_pass_arg") else 0
    return functools.wraps(filter_function)(growth.guarded(name, filter_function, skips))


def _weighing(test: Callable[..., Any]) -> Callable[..., Any]:
    """A test that refuses values that are too large."""

    @functools.wraps(test)
    def weighing(*args: Any) -> Any:
        return test(*map(growth.comparable, args))

    return weighing
