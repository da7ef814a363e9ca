"""Writes calls in a family's format, and describes tools in text if the template cannot."""

import json
from collections.abc import Sequence
from html import escape
from typing import Any, assert_never

from rightcall.core.jsontext import JsonError, dump, parse
from rightcall.core.options import check_keywords
from rightcall.core.parts import Call, Result
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
from rightcall.local.families.reader import Reader, answering
from rightcall.local.families.scanner import quote_json

_CDATA = "<![CDATA["
_CDATA_END = "]]>"
_KINDS = {
    str: "string", bool: "boolean", int: "number", float: "number", dict: "object", list: "array",
}  # fmt: skip
_INTRODUCTION = (
    "You can use tools. To use one, write nothing but a call, exactly in this form:\n"
    "{form}\n"
    "You will be given its result. When no tool is needed, answer in words.\n\n"
    "The tools:"
)


@check_keywords("rc.local.write")
def write(family: Family, calls: Sequence[Call], specs: Sequence[Spec] = ()) -> str:
    """The calls in this family's format. Raises EncodeError if they would not be parsed back the same.

    Most formats express any arguments. Some cannot represent a string that contains their own markers,
    or a key that is no name; and where values are plain text, only the specs distinguish ``"1"`` from
    ``1``.
    """
    if not calls:
        return ""
    written = [_call(family, call, index) for index, call in enumerate(calls)]
    for call, text in zip(calls, written, strict=True):
        # Whether it can be parsed back.
        reader = Reader(family, tuple(specs), tail=answering(family))
        reader.feed(_together(family, [call], [text]))
        reader.finish()
        match reader.content:
            case (Call(name=call.name, truncated=False) as read,) if _same(
                read.arguments, call.arguments
            ):
                pass
            case _:
                reason = "this call would not be read back as it is"
                raise EncodeError(family.name, reason, where=call.name)
    return _together(family, calls, written)


class PromptedTools:
    """Describes tools in text, for a model whose chat template does not support them."""

    def __init__(self, family: Family) -> None:
        self._family = family

    def instructions(self, specs: tuple[Spec, ...]) -> str:
        """The description of each tool, its parameters, and a sample call if the tool has an example."""
        form = self._call("tool_name", '{"parameter": "value"}')
        parts = [_INTRODUCTION.format(form=form)]
        for spec in specs:
            lines = [f"{spec.name}: {spec.description}", f"Parameters: {dump(spec.parameters)}"]
            lines += [f"Example:\n{self._call(spec.name, dump(each))}" for each in spec.examples[:1]]
            parts.append("\n".join(lines))
        return "\n\n".join(parts)

    def calls(self, calls: tuple[Call, ...]) -> str:
        """Earlier calls, in the model's own format."""
        return "\n".join(self._call(call.name, call.arguments) for call in calls)

    def results(self, results: tuple[Result, ...]) -> str:
        """Their results, as a user message."""
        texts = []
        for result in results:
            kind = "Error" if result.is_error else "Result"
            texts.append(f"{kind} of {result.name}:\n{result.text}")
        return "\n\n".join(texts)

    def _call(self, name: str, arguments: str) -> str:
        call = Call(id="", name=name, arguments=arguments)
        try:
            return write(self._family, (call,))
        except EncodeError:
            # A broken call is history too; the model sees what it wrote.
            return f"{name}: {arguments}"


def _same(read: str, written: str) -> bool:
    try:
        return parse(read) == parse(written or "{}")
    except JsonError:
        return False


def _together(family: Family, calls: Sequence[Call], written: list[str]) -> str:
    channels = family.channels
    if channels is not None:
        messages = []
        between = f"{channels.start}assistant"
        if not channels.channel:
            between = f"{channels.ends[0]}{between}"
        for call, text in zip(calls, written, strict=True):
            if channels.channel:
                to = f"{channels.channel}commentary to={channels.prefix}{call.name}"
                messages.append(f"{to} {channels.constrain}json{channels.message}{text}")
            else:
                messages.append(f" to={call.name}{channels.message}{_section(family, text)}")
        return between.join(messages)
    if family.parallel == "section" or len(written) == 1:
        return family.lead + _section(family, _join_calls(family, written))
    sections = [_section(family, _join_calls(family, [text])) for text in written]
    return family.lead + family.separator.join(sections)


def _join_calls(family: Family, written: list[str]) -> str:
    joined = family.separator.join(written)
    is_list = isinstance(family.form, JsonForm) and family.form.is_array
    if is_list or (isinstance(family.form, PythonForm) and family.form.is_list):
        return f"[{joined}]"
    return joined


def _section(family: Family, text: str) -> str:
    if not family.section.open or (family.is_bare and not family.section.close):
        return text
    close = family.section.close[0] if family.section.close else ""
    return f"{family.section.open[0]}{family.inner}{text}{family.inner}{close}"


def _call(family: Family, call: Call, index: int) -> str:
    form = family.form
    match form:
        case JsonForm():
            arguments = _json_arguments(family, call)
            if form.is_keyed:
                return f"{{{quote_json(call.name)}: {arguments}}}"
            members = [f"{quote_json(form.name_keys[0])}: {quote_json(call.name)}"]
            members.append(f"{quote_json(form.arguments_keys[0])}: {arguments}")
            if call.id and family.ids == "written":
                identity = f"{quote_json(form.id_keys[0])}: {quote_json(call.id)}"
                members.insert(0 if form.is_id_first else 2, identity)
            return f"{{{', '.join(members)}}}"
        case NamedForm():
            identity = call.id if family.ids == "written" else ""
            name = call.name
            if form.is_numbered:
                name = f"{form.prefix}{call.name}:{index}"
            texts = {
                "kind": form.kind,
                "name": identity or name if form.is_numbered else name,
                "id": identity,
            }
            arguments = _json_arguments(family, call)
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
        case TagForm():
            counter = ""
            if form.counter:
                counter = f' {form.counter}="{index + 1}"'
            pieces = [f"{_quote(form, call.name)}{counter}{form.name_close}{form.head}"]
            for key, value in _members(family, call):
                text = value if isinstance(value, str) else _json(value)
                if form.has_cdata and (form.value_close in text or text.lstrip().startswith(_CDATA)):
                    text = f"{_CDATA}{text}{_CDATA_END}"
                elif form.is_on_lines:
                    text = f"\n{text}\n"
                pieces += [form.key_open, _quote(form, key), _attribute(form, value), form.key_close]
                pieces += [form.gap, form.value_open, text, form.value_close, form.after]
            body = "".join(pieces)
        case NestedForm():
            inside = _write_nested(form, dict(_members(family, call)))
            body = f'"{call.name}"{form.name_close}{inside}'
        case PythonForm():
            pairs = [f"{key}={_write_python(value)}" for key, value in _members(family, call)]
            return f"{call.name}({', '.join(pairs)})"
        case GemmaForm():
            body = f"{call.name}{_write_gemma(form, dict(_members(family, call)))}"
        case _:
            assert_never(form)
    return f"{family.call.open[0]}{body}{family.call.close[0]}"


def _json_arguments(family: Family, call: Call) -> str:
    """The arguments unchanged, for a format with JSON."""
    if _members(family, call):
        return call.arguments
    return "{}"


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


def _quote(form: TagForm, text: str) -> str:
    if form.is_escaped:
        text = escape(text)
    if form.is_quoted:
        return f'"{text}"'
    return text


def _attribute(form: TagForm, value: Any) -> str:
    if not form.attribute:
        return ""
    if form.attribute == "string":
        return f' string="{_json(isinstance(value, str))}"'
    return f' type="{_KINDS.get(type(value), "null")}"'


def _write_nested(form: NestedForm, value: Any) -> str:
    match value:
        case dict():
            tags = list(value.items())
        case list():
            tags = [(form.item, item) for item in value]
        case str():
            return value
        case _:
            return _json(value)
    texts = []
    for tag, inside in tags:
        texts.append(f"{form.prefix}<{tag}>{_write_nested(form, inside)}{form.prefix}</{tag}>")
    return "".join(texts)


def _write_python(value: Any) -> str:
    match value:
        case bool() | None:
            return str(value)
        case dict():
            members = [f"{quote_json(key)}: {_write_python(member)}" for key, member in value.items()]
            return f"{{{', '.join(members)}}}"
        case list():
            return "[" + ", ".join(_write_python(item) for item in value) + "]"
        case str():
            return quote_json(value)
        case _:
            return _json(value)


def _write_gemma(form: GemmaForm, value: Any) -> str:
    match value:
        case dict():
            members = [f"{key}:{_write_gemma(form, member)}" for key, member in value.items()]
            return f"{{{','.join(members)}}}"
        case list():
            return "[" + ",".join(_write_gemma(form, item) for item in value) + "]"
        case str():
            return f"{form.quote}{value}{form.quote}"
        case _:
            return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
