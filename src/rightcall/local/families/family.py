"""The definition of a family: how one kind of model writes thoughts, answers and calls, as data.

There is no code here. ``reader`` parses text by this data, ``call_text`` writes calls by it, and
grammars are built from it, too. If several markers are listed, a model may write any of them; its
template uses the first.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.options import NameCheckedMeta

Slot: TypeAlias = Literal["kind", "name", "id", "arguments"]
"""The kinds of slots in the head of a call."""


class Markers(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An opening and a closing marker. Without ``close``, it ends where the next thing begins."""

    open: tuple[str, ...] = ()
    close: tuple[str, ...] = ()


class JsonForm(Struct, frozen=True, kw_only=True, gc=False, tag="json", forbid_unknown_fields=True):
    """Each call is a JSON object with the name and the arguments: ``{"name": …, "arguments": {…}}``."""

    name_keys: tuple[str, ...] = ("name",)
    arguments_keys: tuple[str, ...] = ("arguments", "parameters")
    id_keys: tuple[str, ...] = ("id",)
    is_id_first: bool = False
    """Whether the id comes before the name, and not after the arguments."""
    wrapper_keys: tuple[str, ...] = ("function",)
    """Members that may contain such an object, or just the name."""
    is_array: bool = False
    """Whether the calls of a section are in one JSON array. The parser accepts both."""
    is_keyed: bool = False
    """Whether the only member's key is the name and its value the arguments: ``{"add": {"a": 1}}``."""


class NamedForm(Struct, frozen=True, kw_only=True, gc=False, tag="named", forbid_unknown_fields=True):
    """The name comes before the arguments, which are a JSON object: ``name[ARGS]{…}``."""

    marks: tuple[tuple[str, Slot], ...]
    """By marker: which slot comes after it. A marker also ends the slot before it."""
    first: Slot = "name"
    kind: str = ""
    """The content of the slot ``kind``."""
    prefix: str = ""
    """A prefix of names that is not part of them, as ``functions.``."""
    is_numbered: bool = False
    """Whether the slot ``name`` has the id: prefix, name, ``:`` and the call's number."""
    text_name: str = ""
    """A name that marks plain text instead of a call."""


class TagForm(Struct, frozen=True, kw_only=True, gc=False, tag="tags", forbid_unknown_fields=True):
    """Each argument is between tags of its own: ``<parameter=key>value</parameter>``.

    A name or key may be in quotes, with attributes after it. Values are text; the schema determines
    their type.
    """

    name_close: str
    """The end of the tag with the name."""
    key_open: str
    key_close: str
    value_close: str
    value_open: str = ""
    """The marker between the key's tag and the value, if there is a second tag."""
    other_key_opens: tuple[str, ...] = ()
    """Alternatives that models also write for ``key_open``."""
    is_quoted: bool = False
    """Whether names and keys are quoted."""
    is_escaped: bool = False
    """Whether names and keys use XML entities. Values never do."""
    head: str = ""
    """Written after the name's tag; the parser accepts any white space."""
    gap: str = ""
    """Written between the key's tag and the value's, if there are two."""
    after: str = ""
    """Written after each argument."""
    is_on_lines: bool = False
    """Whether a value is on lines of its own: one line break before and after it is not part of it."""
    attribute: Literal["", "string", "type"] = ""
    """The attribute of the key's tag that gives the value's type: ``string="true"``, or
    ``type="number"``."""
    counter: str = ""
    """An attribute of the name's tag with the number of the call, counted from 1."""
    raw: Markers = Markers()
    """Markers around arguments that are given as one JSON text instead."""
    has_cdata: bool = False
    """Whether a value may be in ``<![CDATA[`` … ``]]>``."""


class NestedForm(Struct, frozen=True, kw_only=True, gc=False, tag="nested", forbid_unknown_fields=True):
    """Tags named after the keys, down to the scalars: ``<city>Paris</city>``, items in ``<item>``."""

    name_close: str
    prefix: str
    """A prefix of every tag, so that values may contain tags of their own."""
    item: str = "item"


class PythonForm(Struct, frozen=True, kw_only=True, gc=False, tag="python", forbid_unknown_fields=True):
    """Calls in Python syntax: ``f(a=1, b="x")``."""

    is_list: bool = True
    """Whether they are in a list, ``[f(), g()]``; otherwise one per line."""


class GemmaForm(Struct, frozen=True, gc=False, tag="gemma", forbid_unknown_fields=True):
    """Keys without quotes, strings between markers: ``name{key:<|"|>text<|"|>,n:1}``."""

    quote: str


Form: TypeAlias = JsonForm | NamedForm | TagForm | NestedForm | PythonForm | GemmaForm


class Channels(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """Every message has a head with its channel or recipient.

    ``<|start|>assistant to=x<|channel|>y<|message|>``, and then the message.
    """

    start: str
    message: str
    channel: str = ""
    constrain: str = ""
    ends: tuple[str, ...]
    thoughts: tuple[str, ...]
    """The channels, or recipients, of the model's thoughts."""
    nobody: tuple[str, ...]
    """Recipients of messages that are not calls."""
    prefix: str = ""
    """A prefix of tool names among the recipients."""
    hosted: tuple[str, ...] = ()
    """Recipients, with anything after a dot, that are tools of the model's maker."""


class Family(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta, forbid_unknown_fields=True):
    """How one family of models writes calls and thoughts."""

    name: str
    note: str = ""
    """Why something is as it is, for the reader of the table."""
    form: Form
    section: Markers = Markers()
    """The markers around all calls of a reply, or around each if there is no ``call``."""
    call: Markers = Markers()
    """The markers around each call. The name follows ``open`` directly, unless the format is JSON."""
    lead: str = ""
    """Written before the first section."""
    inner: str = ""
    """Written after the section's ``open`` and before its ``close``; the parser accepts any white
    space."""
    separator: str = ""
    """Written between calls; the parser accepts any white space, commas and semicolons."""
    parallel: Literal["section", "sections", "none"] = "section"
    """Whether several calls share a section, each has its own, or the model never saw several."""
    is_bare: bool = False
    """Whether calls may occur in the text without a marker, recognised by their syntax alone."""
    ids: Literal["none", "written"] = "none"
    id_pattern: str = ""
    """The format of an id, as a regular expression; empty for any."""
    thoughts: Markers = Markers()
    thinking: Literal["marked", "opened"] = "marked"
    """Whether the reply marks thoughts, if there are any; or the prompt opens them, so that by default a
    reply begins inside of a thought."""
    calls_in_thoughts: bool = False
    """Whether a call may come before the thought is closed, and ends it."""
    wrappers: tuple[str, ...] = ()
    """Markers around the answer, which are not part of it. One of them also ends a thought."""
    authors: tuple[str, ...] = ()
    """The start of a message that repeats the tool's name before a section."""
    citations: Markers = Markers()
    """The markers around a citation. The text between ``close`` and the next ``>`` is its source."""
    channels: Channels | None = None
    turn: tuple[str, ...] = ()
    """The end of the prompt where the model's turn begins."""
    ends: tuple[str, ...] = ()
    """Markers that end the turn, if they occur in the text."""
    signs: tuple[tuple[str, ...], ...] = ()
    """Signs of the family: a chat template that contains all strings of one of these belongs to it."""
    rank: int = 0
    """The rank of its signs; lower ranks are checked first. 0: only this family has them. From 10 on:
    they share a marker with another family's, and those that need more markers come first. From 90 on:
    the templates of many families mention them."""
    aliases: tuple[str, ...] = ()
    """Other names of the format, in model names and in other runtimes' options."""
    shows_specs: Literal["template", "ours"] = "template"
    """Whether the template describes the tools to the model; otherwise we do."""


def markers_of(family: Family, most: int | None = None) -> list[str]:
    """The markers of calls and thoughts; for calls, the first ``most`` of each kind."""
    marks = [
        *family.section.open[:most],
        *family.section.close[:most],
        *family.call.open[:most],
        *family.call.close[:most],
        *family.thoughts.open,
        *family.thoughts.close,
    ]
    if isinstance(family.form, NamedForm):
        marks += [mark for mark, _ in family.form.marks]
    if (channels := family.channels) is not None:
        marks += [channels.start, channels.channel, channels.constrain, channels.message, *channels.ends]
    if isinstance(family.form, GemmaForm):
        return [*marks, family.form.quote]
    return marks
