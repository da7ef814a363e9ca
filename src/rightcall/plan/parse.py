"""Parses a plan's source: what is not in the language is refused, with line and remedy.

The language is a small subset of Python: assignments, calls, fields, items, slices, comprehensions,
lambdas, arithmetic, comparisons, f-strings, ``if``, ``for``, functions, and classes that declare what to
read out of a text. Constructs are left out if they hide where values come from or cannot be bounded.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from rightcall.core.jsontext import JsonObject, JsonValue

LONGEST = 20_000
"""Characters that a plan may have."""
DEEPEST = 40
"""Nesting levels of a plan's syntax, and of its calls."""

_ALLOWED: tuple[type[ast.AST], ...] = (
    *(ast.Module, ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.For, ast.Return),
    *(ast.Break, ast.Continue, ast.Pass, ast.FunctionDef, ast.ClassDef, ast.ImportFrom, ast.Import),
    *(ast.Name, ast.Load, ast.Store, ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.Call),
    *(ast.keyword, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp),
    *(ast.GeneratorExp, ast.comprehension, ast.IfExp, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp),
    *(ast.Not, ast.USub, ast.UAdd, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv),
    *(ast.Mod, ast.BitOr, ast.BitAnd, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
    *(ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.JoinedStr, ast.FormattedValue, ast.Lambda),
    *(ast.arguments, ast.arg, ast.alias),
)

_REMEDIES: dict[type[ast.AST], tuple[str, str]] = {
    ast.While: ("while", "go through a list or a range with for"),
    ast.Try: ("try", "let the plan fail: that nothing was raised tells as much as that something was"),
    ast.With: ("with", "call the tools directly"),
    ast.Raise: ("raise", "return what there is to say"),
    ast.Assert: ("assert", "use if"),
    ast.Delete: ("del", "leave it out, or make a new list with a comprehension"),
    ast.Global: ("global", "return the value"),
    ast.Nonlocal: ("nonlocal", "return the value"),
    ast.Yield: ("yield", "return a list"),
    ast.YieldFrom: ("yield", "return a list"),
    ast.Await: ("await", "call the tool without it: each call waits for its result"),
    ast.AsyncFunctionDef: ("async def", "write def"),
    ast.AsyncFor: ("async for", "write for"),
    ast.AsyncWith: ("async with", "call the tools directly"),
    ast.NamedExpr: (":=", "assign it on a line of its own"),
    ast.Starred: ("*", "name each value"),
    ast.Match: ("match", "use if"),
    ast.Pow: ("**", "multiply"),
    ast.MatMult: ("@", "use a loop"),
    ast.BitXor: ("^", "use != for two conditions"),
    ast.LShift: ("<<", "multiply"),
    ast.RShift: (">>", "divide"),
    ast.Invert: ("~", "use not"),
}

DATES = frozenset({"datetime", "date", "time", "timedelta"})
"""What ``from datetime import …`` may import; the names also work without it."""
ANSWER = "answer"
EXTRACT = "extract"
LOOK_FIRST = "look_first"
"""The functions that are not tools."""
_CHANGING = frozenset({"append", "extend", "insert", "remove", "pop", "add", "update"})
"""The methods that change a list, a set or a dict."""
_EXTRACTED: Mapping[str, JsonObject] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
}
_MOST_EXTRACTED = 200
_DEEPEST_TYPE = 6


class PlanProblem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A problem of a plan, without any value that the plan read."""

    kind: str
    """``SyntaxError``, ``NameError``…, or the outcome of a call: ``denied``, ``failed``."""
    reason: str
    line: int = 0
    expression: str = ""
    """The part of the plan's source that has the problem."""
    tool: str = ""

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        at = f" at {self.expression!r}" if self.expression else ""
        by = f" (tool {self.tool})" if self.tool else ""
        return f"{where}{self.kind}: {self.reason}{at}{by}"


class PlanSyntaxError(Exception):
    """The source is not a valid plan."""

    def __init__(self, problems: tuple[PlanProblem, ...]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class PlanRuntimeError(Exception):
    """The plan cannot continue. Contains the kind and the reason, and no value."""

    def __init__(self, kind: str, reason: str, tool: str = "") -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.tool = tool


def parse(source: str) -> ast.Module:
    """The tree of a plan. Raises PlanSyntaxError with everything that is not in the language."""
    if len(source) > LONGEST:
        reason = f"a plan has at most {LONGEST:,} characters, and this has {len(source):,}"
        raise PlanSyntaxError((PlanProblem(kind="SyntaxError", reason=reason),))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 0
        reason = getattr(error, "msg", None) or "it is nested too deeply, or no text"
        raise PlanSyntaxError((PlanProblem(kind="SyntaxError", reason=reason, line=line),)) from None
    problems = tuple(sorted(_problems(tree), key=lambda each: each.line))
    if problems:
        raise PlanSyntaxError(problems)
    return tree


def format_node(node: ast.AST) -> str:
    """A part of a plan for a message: one line of bounded length."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 120 else text[:119] + "…"  # noqa: PLR2004 - what fits on a line


def _problems(tree: ast.Module) -> Iterator[PlanProblem]:
    todo: list[tuple[ast.AST, ast.AST, int]] = [(tree, tree, 0)]
    while todo:
        node, parent, depth = todo.pop()
        if depth > DEEPEST * 2:
            yield _problem(node, "it is nested too deeply", "give parts of it names")
            return
        if not isinstance(node, _ALLOWED):
            what, remedy = _REMEDIES.get(type(node), (type(node).__name__, "write it without"))
            # An operator node has no line number.
            placed = node if hasattr(node, "lineno") else parent
            yield _problem(placed, f"{what} is not in the language of plans", remedy)
            continue
        yield from _special(node, is_top=depth == 1)
        for child in ast.iter_child_nodes(node):
            todo.append((child, node, depth + 1))


def _problem(node: ast.AST, reason: str, remedy: str) -> PlanProblem:
    line = getattr(node, "lineno", 0)
    return PlanProblem(
        kind="SyntaxError",
        reason=f"{reason}; {remedy}",
        line=line,
        expression=format_node(node) if line else "",
    )


def _special(node: ast.AST, *, is_top: bool) -> Iterator[PlanProblem]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) if name.startswith("__"):
            yield _problem(node, f"the name {name} is not in the language", "use another")
        case ast.Import(names=[ast.alias(name="datetime")]):
            pass
        case ast.Import():
            yield _problem(node, "import is not in the language", "there is datetime, and the tools")
        case ast.ImportFrom(module=module, names=names):
            wanted = {each.name for each in names}
            if module == "typing" and wanted <= {"Literal", "Optional"}:
                return
            if module != "datetime" or not wanted <= DATES or any(each.asname for each in names):
                yield _problem(node, "import is not in the language", "there is datetime, and the tools")
        case ast.ClassDef():
            yield from _class_problems(node, is_top=is_top)
        case ast.FunctionDef(decorator_list=decorators) if decorators:
            yield _problem(decorators[0], "a decorator is not in the language", "call the function")
        case ast.FunctionDef(args=args) | ast.Lambda(args=args) if args.vararg or args.kwarg:
            yield _problem(node, "*args and **kwargs are not in the language", "name each parameter")
        case ast.For(orelse=[first, *_]):
            yield _problem(first, "else after for is not in the language", "keep a value and ask it")
        case ast.keyword(arg=None):
            yield _problem(node.value, "** is not in the language", "name each argument")
        case ast.Dict(keys=keys) if None in keys:
            yield _problem(node, "** is not in the language", "name each key")
        case ast.comprehension(is_async=1):
            yield _problem(node.iter, "async for is not in the language", "write for")
        case ast.Constant(value=bytes() | complex()):
            yield _problem(node, "only texts, numbers, True, False and None are there", "write a text")
        case ast.Assign(targets=targets) if len(targets) > 1:
            yield _problem(node, "two targets of one assignment are not in the language", "write two")
        case ast.Assign(targets=[target]) | ast.For(target=target):
            yield from _target_problems(target)
        case _:
            pass


def _class_problems(node: ast.ClassDef, *, is_top: bool) -> Iterator[PlanProblem]:
    if not is_top or node.bases or node.keywords or node.decorator_list:
        remedy = "at the top of the plan, without bases and decorators"
        yield _problem(node, "a class only says what extract is to find", remedy)
        return
    for each in node.body:
        match each:
            case ast.AnnAssign(target=ast.Name(), value=None):
                pass
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                pass
            case _:
                yield _problem(each, "a class only has fields", "write each as name: type")


def _target_problems(target: ast.expr) -> Iterator[PlanProblem]:
    match target:
        case ast.Name() | ast.Subscript():
            return
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _target_problems(part)
        case _:
            yield _problem(target, "only names and items can be assigned to", "make a new value")


def names_in(target: ast.expr) -> frozenset[str]:
    """The names that an assignment target assigns."""
    found = set()
    for each in ast.walk(target):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
    return frozenset(found)


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement inside some others, except those of nested function definitions."""
    for each in body:
        yield each
        if isinstance(each, ast.If | ast.For):
            yield from statements(each.body)
            yield from statements(each.orelse)


def assigned_names(body: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that some statements could assign."""
    found: set[str] = set()
    for each in statements(body):
        match each:
            case ast.Assign(targets=targets):
                found.update(*map(names_in, targets))
            case ast.AnnAssign(target=target, value=value) if value is not None:
                found |= names_in(target)
            case ast.AugAssign(target=target) | ast.For(target=target):
                found |= names_in(target)
            case ast.FunctionDef(name=name):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def changed_names(body: Sequence[ast.stmt]) -> frozenset[str]:
    """The names whose lists, sets and dicts some statements could change in place."""
    found: set[str] = set()
    for each in statements(body):
        match each:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))):
                if method in _CHANGING:
                    found.add(name)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
                found.add(name)
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name))):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def returns(body: Sequence[ast.stmt]) -> bool:
    """Whether some statements could return from their function."""
    return ast.Return in map(type, statements(body))


def leaves_loop(body: Sequence[ast.stmt]) -> bool:
    """Whether some statements could break or continue their loop."""
    for each in body:
        if isinstance(each, ast.Break | ast.Continue):
            return True
        if isinstance(each, ast.If) and (leaves_loop(each.body) or leaves_loop(each.orelse)):
            return True
    return False


class ExtractType(Struct, frozen=True, eq=False):
    """What the reader is asked to extract."""

    name: str
    """The type as the plan writes it."""
    schema: JsonObject


def parse_extract_type(node: ast.expr, classes: Mapping[str, ast.ClassDef]) -> ExtractType:
    """The type that an expression of a plan names. Raises PlanRuntimeError if it is not a valid type."""
    schema = _schema(node, classes, 0)
    return ExtractType(" ".join(ast.unparse(node).split()), _or_nothing(schema))


def _or_nothing(schema: JsonObject) -> JsonObject:
    """The schema, or null: the text may not say."""
    if _takes_nothing(schema):
        return schema
    return {"anyOf": [schema, {"type": "null"}]}


def _takes_nothing(schema: JsonObject) -> bool:
    if schema.get("type") == "null":
        return True
    options = schema.get("anyOf")
    return isinstance(options, list) and any(map(_takes_nothing, options))


def _schema(node: ast.expr, classes: Mapping[str, ast.ClassDef], depth: int) -> JsonObject:
    if depth > _DEEPEST_TYPE:
        raise PlanRuntimeError("TypeError", "the type is nested too deeply")
    match node:
        case ast.Name(id=name) if name in _EXTRACTED:
            return _EXTRACTED[name]
        case ast.Name(id=name) | ast.Constant(value=str(name)) if name in classes:
            return _record(classes[name], classes, depth)
        case ast.Constant(value=None):
            return {"type": "null"}
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            options = [_schema(left, classes, depth + 1), _schema(right, classes, depth + 1)]
            return {"anyOf": options}
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return _or_nothing(_schema(inner, classes, depth + 1))
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            items = _schema(inner, classes, depth + 1)
            return {"type": "array", "items": items, "maxItems": _MOST_EXTRACTED}
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            values = []
            for part in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
                if not isinstance(part, ast.Constant) or not isinstance(part.value, str | int | bool):
                    raise PlanRuntimeError("TypeError", "Literal lists texts and numbers")
                values.append(part.value)
            return {"enum": values}
        case _:
            pass
    raise PlanRuntimeError(
        "TypeError",
        "extract takes str, int, float, bool, date, datetime, list[…], Literal[…], … | None, or a class "
        "of the plan's with such fields",
    )


def _record(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], depth: int) -> JsonObject:
    fields = {}
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            fields[each.target.id] = _or_nothing(_schema(each.annotation, classes, depth + 1))
    if not fields:
        raise PlanRuntimeError("TypeError", f"the class {node.name} has no fields")
    schema: dict[str, JsonValue] = {"type": "object", "title": node.name}
    if words := ast.get_docstring(node):
        schema["description"] = words
    return schema | {"properties": fields, "required": list(fields), "additionalProperties": False}
