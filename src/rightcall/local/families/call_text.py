"""Writes calls in a family's format, and describes tools in text if the template cannot."""

import json
from collections.abc import Sequence
from html import escape
from typing import Any, assert_never

from rightcall.core.call import Call
from rightcall.core.jsontext import JsonError, dump, parse
from rightcall.core.options import checked
from rightcall.core.parts import Result
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.local.families.family import (
    Family,
    GemmaForm,
    JsonForm,
    NamedForm,
    NestedForm,
    PythonForm,
    TagForm,
)
from rightcall.local.families.opening import answering
from rightcall.local.families.reader import Reader
from rightcall.local.families.scanner import quoted

_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_KINDS = {
    str: "string", bool: "boolean", int: "number", float: "number", dict: "object", list: "array",
}  # fmt: skip
_INTRODUCTION = (
    "You can use tools. To use one, write nothing but a call, exactly in this form:\n"
    "{form}\n"
    "You will be given its result. When no tool is needed, answer in words.\n\n"
    "The tools:"
)


@checked("rc.local.write")
def write(family: Family, calls: Sequence[Call], specs: Sequence[Spec] = ()) -> str:
    """The calls in this family's format. Raises EncodeError if they would not be parsed back the same.

    Most formats express any arguments. Some cannot represent a string that contains their own markers,
    or a key that is no name; and where values are plain text, only the specs distinguish ``"1"`` from
    ``1``.
    """
    if not calls:
        return ""
    for index, call in enumerate(calls):
        _check(family, call, _together(family, [call], [_call(family, call, index)]), specs)
    return _together(family, calls, [_call(family, call, index) for index, call in enumerate(calls)])


class PromptedTools:
    """Describes tools in text, for a model whose chat template does not support them."""

    def __init__(self, family: Family) -> None:
        self._family = family

    def instructions(self, specs: tuple[Spec, ...]) -> str:
        """The description of each tool, its parameters, and a sample call if the tool has an example."""
        form = self._call("tool_name", '{"parameter": "value"}')
        parts = [_INTRODUCTION.format(form=form), *map(self._tool, specs)]
        return "\n\n".join(parts)

    def calls(self, calls: tuple[Call, ...]) -> str:
        """Earlier calls, in the model's own format."""
        return "\n".join(self._call(call.name, call.arguments) for call in calls)

    def results(self, results: tuple[Result, ...]) -> str:
        """Their results, as a user message."""
        return "\n\n".join(
            f"{'Error' if each.is_error else 'Result'} of {each.name}:\n{each.text}" for each in results
        )

    def _tool(self, spec: Spec) -> str:
        lines = [f"{spec.name}: {spec.description}", f"Parameters: {dump(spec.parameters)}"]
        lines += [f"Example:\n{self._call(spec.name, dump(each))}" for each in spec.examples[:1]]
        return "\n".join(lines)

    def _call(self, name: str, arguments: str) -> str:
        call = Call(id="", name=name, arguments=arguments)
        try:
            return write(self._family, (call,))
        except EncodeError:
            # A broken call is history too; the model sees what it wrote.
            return f"{name}: {arguments}"


def _check(family: Family, call: Call, written: str, specs: Sequence[Spec]) -> None:
    """Whether a call can be parsed back."""
    reader = Reader(family, tuple(specs), tail=answering(family))
    reader.feed(written)
    reader.finish()
    match reader.content:
        case (Call(name=call.name, truncated=False) as read,) if _same(read.arguments, call.arguments):
            return
        case _:
            raise EncodeError(family.name, "this call would not be read back as it is", where=call.name)


def _same(read: str, written: str) -> bool:
    try:
        return parse(read) == parse(written or "{}")
    except JsonError:
        return False


def _together(family: Family, calls: Sequence[Call], written: list[str]) -> str:
    if family.channels is not None:
        return _messages(family, calls, written)
    if family.parallel == "section" or len(written) == 1:
        return family.lead + _section(family, _joined(family, written))
    return family.lead + family.separator.join(
        _section(family, _joined(family, [one])) for one in written
    )


def _joined(family: Family, written: list[str]) -> str:
    joined = family.separator.join(written)
    is_list = isinstance(family.form, JsonForm) and family.form.is_array
    return (
        f"[{joined}]"
        if is_list or (isinstance(family.form, PythonForm) and family.form.is_list)
        else joined
    )


def _section(family: Family, text: str) -> str:
    if not family.section.open or (family.is_bare and not family.section.close):
        return text
    close = family.section.close[0] if family.section.close else ""
    return f"{family.section.open[0]}{family.inner}{text}{family.inner}{close}"


def _messages(family: Family, calls: Sequence[Call], written: list[str]) -> str:
    channels = family.channels
    assert channels is not None
    if channels.channel:
        heads = [
            f"{channels.channel}commentary to={channels.prefix}{call.name} {channels.constrain}json"
            for call in calls
        ]
        return f"{channels.start}assistant".join(
            f"{head}{channels.message}{text}" for head, text in zip(heads, written, strict=True)
        )
    return f"{channels.ends[0]}{channels.start}assistant".join(
        f" to={call.name}{channels.message}{_section(family, text)}"
        for call, text in zip(calls, written, strict=True)
    )


def _call(family: Family, call: Call, index: int) -> str:
    form = family.form
    match form:
        case JsonForm():
            return _object(family, form, call)
        case NamedForm():
            return _named(family, form, call, index)
        case TagForm():
            body = _tags(family, form, call, index)
        case NestedForm():
            inside = _nested(form, dict(_members(family, call)))
            body = f'"{call.name}"{form.name_close}{inside}'
        case PythonForm():
            pairs = [f"{key}={_python(value)}" for key, value in _members(family, call)]
            return f"{call.name}({', '.join(pairs)})"
        case GemmaForm():
            body = f"{call.name}{_gemma(form, dict(_members(family, call)))}"
        case _:
            assert_never(form)
    return f"{family.call.open[0]}{body}{family.call.close[0]}"


def _checked(family: Family, call: Call) -> str:
    """The arguments unchanged, for a format with JSON."""
    return call.arguments if _members(family, call) else "{}"


def _members(family: Family, call: Call) -> list[tuple[str, Any]]:
    """The arguments as an object. No family has a format for broken ones."""
    try:
        value = parse(call.arguments or "{}")
    except JsonError as error:
        raise EncodeError(
            family.name, f"arguments that are not JSON ({error})", where=call.name
        ) from None
    if not isinstance(value, dict):
        raise EncodeError(family.name, "arguments that are not an object", where=call.name)
    return list(value.items())


def _object(family: Family, form: JsonForm, call: Call) -> str:
    arguments = _checked(family, call)
    if form.is_keyed:
        return f"{{{quoted(call.name)}: {arguments}}}"
    members = [(form.name_keys[0], quoted(call.name)), (form.arguments_keys[0], arguments)]
    if call.id and family.ids == "written":
        members.insert(0 if form.is_id_first else 2, (form.id_keys[0], quoted(call.id)))
    return "{" + ", ".join(f"{quoted(key)}: {value}" for key, value in members) + "}"


def _named(family: Family, form: NamedForm, call: Call, index: int) -> str:
    identity = call.id if family.ids == "written" else ""
    name = f"{form.prefix}{call.name}:{index}" if form.is_numbered else call.name
    texts = {"kind": form.kind, "name": identity or name if form.is_numbered else name, "id": identity}
    arguments = _checked(family, call)
    close = family.call.close[0] if family.call.close else ""
    if family.channels is not None:
        return f"{arguments}{close}"
    marks: dict[str, str] = {}
    for mark, slot in form.marks:
        marks.setdefault(slot, mark)
    pieces = [texts[form.first]]
    for slot in ("name", "id"):
        if slot in marks and (texts[slot] or slot == "name"):
            pieces += [marks[slot], texts[slot]]
    start = family.call.open[0] if family.call.open else ""
    return f"{start}{''.join(pieces)}{marks['arguments']}{arguments}{close}"


def _tags(family: Family, form: TagForm, call: Call, index: int) -> str:
    counter = f' {form.counter}="{index + 1}"' if form.counter else ""
    pieces = [f"{_quote(form, call.name)}{counter}{form.name_close}{form.head}"]
    for key, value in _members(family, call):
        text = value if isinstance(value, str) else _json(value)
        pieces.append(f"{form.key_open}{_quote(form, key)}{_attribute(form, value)}{form.key_close}")
        pieces.append(f"{form.gap}{form.value_open}{_value(form, text)}{form.value_close}{form.after}")
    return "".join(pieces)


def _quote(form: TagForm, text: str) -> str:
    text = escape(text) if form.is_escaped else text
    return f'"{text}"' if form.is_quoted else text


def _attribute(form: TagForm, value: Any) -> str:
    if not form.attribute:
        return ""
    if form.attribute == "string":
        return f' string="{"true" if isinstance(value, str) else "false"}"'
    return f' type="{_KINDS.get(type(value), "null")}"'


def _value(form: TagForm, text: str) -> str:
    if form.has_cdata and (form.value_close in text or text.lstrip().startswith(_CDATA)):
        return f"{_CDATA}{text}{_CDATA_END}"
    return f"\n{text}\n" if form.is_on_lines else text


def _nested(form: NestedForm, value: Any) -> str:
    match value:
        case dict():
            tags = list(value.items())
        case list():
            tags = [(form.item, item) for item in value]
        case str():
            return value
        case _:
            return _json(value)
    return "".join(f"{form.prefix}<{tag}>{_nested(form, one)}{form.prefix}</{tag}>" for tag, one in tags)


def _python(value: Any) -> str:
    match value:
        case bool() | None:
            return str(value)
        case dict():
            return (
                "{"
                + ", ".join(f"{quoted(key)}: {_python(member)}" for key, member in value.items())
                + "}"
            )
        case list():
            return "[" + ", ".join(_python(item) for item in value) + "]"
        case str():
            return quoted(value)
        case _:
            return _json(value)


def _gemma(form: GemmaForm, value: Any) -> str:
    match value:
        case dict():
            return "{" + ",".join(f"{key}:{_gemma(form, member)}" for key, member in value.items()) + "}"
        case list():
            return "[" + ",".join(_gemma(form, item) for item in value) + "]"
        case str():
            return f"{form.quote}{value}{form.quote}"
        case _:
            return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
