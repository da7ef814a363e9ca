"""What a family is: the facts of how one kind of model writes thoughts, answers and calls, as data.

Nothing here acts. ``reader`` turns text into parts by these facts, ``call_text`` turns calls into text
by the same ones, and whoever makes a grammar reads them too. Where several markers are listed, a model
may write any of them; the first is the one that its template uses.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.options import Spelt

Slot: TypeAlias = Literal["kind", "name", "id", "arguments"]
"""What stands at a place in the head of a call."""


class Markers(Struct, frozen=True, gc=False):
    """What opens something and what closes it. No ``close``: it ends where the next thing begins."""

    open: tuple[str, ...] = ()
    close: tuple[str, ...] = ()


class JsonForm(Struct, frozen=True, kw_only=True, gc=False, tag="json"):
    """Each call is a JSON object with the name and the arguments: ``{"name": …, "arguments": {…}}``."""

    name_keys: tuple[str, ...] = ("name",)
    arguments_keys: tuple[str, ...] = ("arguments", "parameters")
    id_keys: tuple[str, ...] = ("id",)
    is_id_first: bool = False
    """The id is written before the name, else after the arguments."""
    wrapper_keys: tuple[str, ...] = ("function",)
    """Members that may hold such an object inside of themselves, or just the name."""
    is_array: bool = False
    """The calls of a section stand in one JSON array. Reading takes them either way."""
    is_keyed: bool = False
    """The only member's key is the name and its value the arguments: ``{"add": {"a": 1}}``."""


class NamedForm(Struct, frozen=True, kw_only=True, gc=False, tag="named"):
    """The name stands before the arguments, which are a JSON object: ``name[ARGS]{…}``."""

    marks: tuple[tuple[str, Slot], ...]
    """What ends the slot before it, and which slot comes next."""
    first: Slot = "name"
    kind: str = ""
    """What is written in the slot ``kind``."""
    prefix: str = ""
    """Stands before a name and is no part of it, as ``functions.``."""
    is_numbered: bool = False
    """What is in the slot ``name`` is the id: prefix, name, ``:`` and the call's number."""
    text_name: str = ""
    """The name that stands before plain text instead of a call."""


class TagForm(Struct, frozen=True, kw_only=True, gc=False, tag="tags"):
    """Each argument stands between tags of its own: ``<parameter=key>value</parameter>``.

    A name or key may be in quotes, with attributes after it. Values are text; the schema says of which
    type.
    """

    name_close: str
    """Ends the tag that the name is in."""
    key_open: str
    key_close: str
    value_close: str
    value_open: str = ""
    """Between the key's tag and the value, where there is a second tag."""
    other_key_opens: tuple[str, ...] = ()
    """What models also write for ``key_open``."""
    is_quoted: bool = False
    """Names and keys are written in quotes."""
    is_escaped: bool = False
    """Names and keys are written with XML's entities. Values never are."""
    head: str = ""
    """Written after the name's tag; reading takes any space."""
    gap: str = ""
    """Written between the key's tag and the value's, where there are two."""
    after: str = ""
    """Written after each argument."""
    is_on_lines: bool = False
    """A value stands on lines of its own: one line break before and after it is not part of it."""
    attribute: Literal["", "string", "type"] = ""
    """The attribute of the key's tag that says how to read the value: ``string="true"``, or
    ``type="number"``."""
    counter: str = ""
    """An attribute of the name's tag with the number of the call, counted from 1."""
    raw: Markers = Markers()
    """Around arguments that are given as one JSON text instead."""
    has_cdata: bool = False
    """A value may stand in ``<![CDATA[`` … ``]]>``."""


class NestedForm(Struct, frozen=True, kw_only=True, gc=False, tag="nested"):
    """Tags named after the keys, down to the scalars: ``<city>Paris</city>``, items in ``<item>``."""

    name_close: str
    prefix: str
    """Stands before every tag, so that values may hold tags of their own."""
    item: str = "item"


class PythonForm(Struct, frozen=True, kw_only=True, gc=False, tag="python"):
    """Calls as Python writes them: ``f(a=1, b="x")``."""

    is_list: bool = True
    """In a list, ``[f(), g()]``; else one on each line."""


class GemmaForm(Struct, frozen=True, gc=False, tag="gemma"):
    """Keys without quotes, strings between markers: ``name{key:<|"|>text<|"|>,n:1}``."""

    quote: str


Form: TypeAlias = JsonForm | NamedForm | TagForm | NestedForm | PythonForm | GemmaForm


class Channels(Struct, frozen=True, kw_only=True, gc=False):
    """Every message has a head that says what it is.

    ``<|start|>assistant to=x<|channel|>y<|message|>``, and then the message.
    """

    start: str
    message: str
    channel: str = ""
    constrain: str = ""
    ends: tuple[str, ...]
    thoughts: tuple[str, ...]
    """The channels, or recipients, of what the model thinks."""
    nobody: tuple[str, ...]
    """Recipients that make no message a call."""
    prefix: str = ""
    """Stands before the name of a tool among the recipients."""
    hosted: tuple[str, ...] = ()
    """Recipients, with whatever follows a dot, that are tools of the model's maker."""


class Family(Struct, frozen=True, kw_only=True, metaclass=Spelt):
    """How one family of models writes calls and thoughts."""

    name: str
    form: Form
    section: Markers = Markers()
    """Around all calls of a reply, or around each where there is no ``call``."""
    call: Markers = Markers()
    """Around each call. The name follows its ``open`` at once, unless the form is JSON."""
    lead: str = ""
    """Written before the first section."""
    inner: str = ""
    """Written after the section's ``open`` and before its ``close``; reading takes any space."""
    separator: str = ""
    """Written between calls; reading takes any space, commas and semicolons."""
    parallel: Literal["section", "sections", "none"] = "section"
    """Several calls share a section, have one each, or were never shown to the model."""
    is_bare: bool = False
    """Calls may stand in the text without any marker; only their shape tells."""
    ids: Literal["none", "written"] = "none"
    id_pattern: str = ""
    """What an id looks like, as a regular expression; empty for anything."""
    thoughts: Markers = Markers()
    thinking: Literal["marked", "opened"] = "marked"
    """Thoughts are marked in the reply, if there are any; or the prompt opens them, so that a reply of
    which nothing is known begins inside of them."""
    calls_in_thoughts: bool = False
    """A call may come before the thoughts were closed, and ends them."""
    wrappers: tuple[str, ...] = ()
    """Markers around the answer, which are no part of it. One of them ends a thought, too."""
    authors: tuple[str, ...] = ()
    """What opens a message in which, before a section, the name of the tool stands once more."""
    citations: Markers = Markers()
    """Around what is cited. What stands between ``close`` and the next ``>`` says where it is from."""
    channels: Channels | None = None
    turn: tuple[str, ...] = ()
    """What the prompt ends with where the model's turn begins."""
    ends: tuple[str, ...] = ()
    """What ends the turn, should it be part of the text."""
    signs: tuple[tuple[str, ...], ...] = ()
    """A chat template that contains all strings of one of these is this family's."""
    rank: int = 0
    """Signs of low ranks are looked for first. 0: only this family has them. From 10 on: they share a
    marker with another family's, and those that need more markers come first. From 90 on: the templates
    of many families mention them."""
    aliases: tuple[str, ...] = ()
    """Other names by which the format goes, in model names and in other runtimes' options."""
    shows_specs: Literal["template", "ours"] = "template"
    """Whether the template tells the model about its tools, or we must."""


def markers_of(family: Family, most: int | None = None) -> list[str]:
    """The markers of calls and thoughts; around calls, of each kind the first ``most``."""
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
    return [*marks, family.form.quote] if isinstance(family.form, GemmaForm) else marks
