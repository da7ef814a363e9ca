"""Compiles a chat template for rendering, in a sandbox.

The environment is the one that Hugging Face's templates are written for: ``raise_exception``,
``strftime_now``, a ``tojson`` that escapes nothing, ``break`` and ``continue``, ``{% generation %}``,
blocks that leave no white space behind. What a template can reach is limited here; what it costs, where
it is rendered (``rendering.py``).
"""

import functools
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import Template, nodes, pass_context
from jinja2.exceptions import SecurityError, TemplateError, TemplateSyntaxError
from jinja2.ext import Extension
from jinja2.ext import loopcontrols as LoopControls  # noqa: N812 - it is a class
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from rightcall.errors import UsageError

LONGEST_TEMPLATE = 250_000
"""The longest template, in characters. Real ones stay under twenty thousand; compiling has no
deadline."""


class TemplateRefusal(TemplateError):
    """The template refused, with ``raise_exception``."""


class Sandbox(ImmutableSandboxedEnvironment):
    """The Jinja environment of chat templates."""

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[Generation, LoopControls],
            finalize=_show,
            # Nothing is evaluated while compiling, which happens outside of the child, too.
            optimized=False,
        )
        self.filters["tojson"] = to_json
        self.globals |= {
            "raise_exception": refuse,
            "strftime_now": strftime(datetime.now()),  # noqa: DTZ005 - a template's time is local
            "dict": _Dict(),
            "namespace": _Namespace,
        }
        # Latin filler, of any requested length.
        del self.globals["lipsum"]


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
        Namespace.__init__(args[0], members)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_member(name)
        super().__setitem__(name, value)


def strftime(moment: datetime) -> Callable[[str], str]:
    """A template's clock, which stands still."""
    return moment.strftime


def refuse(message: object) -> NoReturn:
    """A template's ``raise_exception``."""
    raise TemplateRefusal(str(message))


def to_json(
    value: Any,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 - templates pass them by position
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002
) -> str:
    """JSON as models are trained on it: no HTML escapes, keys in their order."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


@functools.lru_cache(maxsize=64)
def compile_template(text: str) -> Template:
    """The compiled template. Raises a UsageError that says what is wrong with it."""
    if len(text) > LONGEST_TEMPLATE:
        raise UsageError(
            f"the chat template is {len(text):,} characters long; "
            f"more than {LONGEST_TEMPLATE:,} are not read"
        )
    try:
        return Sandbox().from_string(text)
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
    asked = []
    for name in tree.find_all(nodes.Name):
        if name.name == "add_generation_prompt":
            asked.append(name)
    match tree.body[-1:]:
        case [nodes.If(test=nodes.Name() as test, body=body, elif_=[], else_=[])] if asked == [test]:
            pass
        case _:
            return None
    written: list[str] = []
    for each in body:
        parts = each.nodes if isinstance(each, nodes.Output) else [each]
        for part in parts:
            match part:
                case nodes.TemplateData(data=str(constant)) | nodes.Const(value=str(constant)):
                    written.append(constant)
                case _:
                    return None
    return "".join(written)


@pass_context
def _show(_: Context, value: object) -> object:
    """Nothing but a function that takes the context: Jinja does not call it while compiling."""
    return value


def _check_member(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace takes no member that begins with an underscore: {name!r}")
