import functools
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

import rightcall as rc
from rightcall.errors import DeclarationError
from rightcall.testing import ScriptedModel


@rc.tool
def read(path: str) -> str:
    return path


def write(path: str, text: str) -> None: ...
def send(to: str) -> None: ...


class Answer(BaseModel):
    text: str


class Files:
    def read(self, path: str) -> str:
        return path

    @rc.tool
    def remove(self, path: str) -> None: ...


def refused(make: Callable[[], object]) -> tuple[str, str | None, str]:
    with pytest.raises(DeclarationError) as caught:
        make()
    error = caught.value
    return error.tool, error.where, f"{error.reason} {error.fix}".strip()


def box() -> rc.Toolbox:
    return rc.Toolbox(read, write, send)


def test_everything_that_can_be_a_tool_can_be_put_in_nested_as_it_comes():
    toolbox = rc.Toolbox(
        Answer,
        [write, (rc.Toolbox(read), [])],
        (each for each in [send]),
        rc.Tool("now", "The time."),
        Files().remove,
        functools.partial(rc.tool(name="post")(send), to="me"),
    )
    assert toolbox.names() == ("Answer", "write", "read", "send", "now", "remove", "post")
    assert all(isinstance(each, rc.Tool) for each in toolbox)


def test_tools_keep_their_order_and_are_found_by_name():
    toolbox = box()
    assert [each.name for each in toolbox] == ["read", "write", "send"]
    assert len(toolbox) == 3
    assert "write" in toolbox
    assert "nothing" not in toolbox
    assert (toolbox["read"], toolbox.get("read"), toolbox.get("nothing")) == (read, read, None)
    assert repr(toolbox) == "Toolbox(read, write, send)"
    with pytest.raises(KeyError):
        toolbox["nothing"]


def test_a_toolbox_can_be_empty():
    assert (len(rc.Toolbox()), rc.Toolbox([]).names()) == (0, ())


class Opaque: ...


HERE = __name__
RETURNED = "Give the function itself, not what it returned: get_weather, without parentheses."
NAMED = "Give the function itself, not its name; another name is @rc.tool(name='read')."
TWICE = {
    "functions": ([read, rc.tool(write, name="read")], f"{HERE}.read and {HERE}.write"),
    "method": ([read, Files().read], f"{HERE}.read and {HERE}.Files.read"),
    "partial": ([write, functools.partial(write, text="")], f"{HERE}.write and {HERE}.write"),
    "no handler": ([rc.Tool("read", ""), read], f"one without a handler and {HERE}.read"),
}


@pytest.mark.parametrize(("sources", "both"), TWICE.values(), ids=TWICE)
def test_a_name_that_is_there_twice_is_refused_and_both_are_named(sources, both):
    words = f"two tools have this name: {both}. Rename one, or prefix a toolbox."
    name = "write" if "write and" in both else "read"
    assert refused(lambda: rc.Toolbox(*sources)) == (name, "name", words)


@pytest.mark.parametrize("sources", [[read, read], [rc.Toolbox(read), [rc.Toolbox(read)]]])
def test_a_tool_that_is_given_twice_is_refused(sources):
    assert refused(lambda: rc.Toolbox(*sources)) == (
        "read",
        "name",
        f"{HERE}.read is given twice. Leave one out.",
    )


@pytest.mark.parametrize("method", [Files.remove, Files.read], ids=["declared", "plain"])
def test_a_method_without_its_instance_is_refused(method):
    assert refused(lambda: rc.Toolbox([method])) == (
        method.__name__,
        None,
        "it is a method. Take it from an instance: instance.method.",
    )


@pytest.mark.parametrize(
    ("source", "kind", "fix"),
    [
        (5, "int", RETURNED),
        (None, "NoneType", RETURNED),
        ("read", "str", NAMED),
        (["read"], "str", NAMED),
        (functools, "module", "Give its functions."),
        (object.__new__(Opaque), "Opaque", "Give its methods, as instance.method, or define __call__."),
    ],
)
def test_what_is_no_tool_is_refused(source, kind, fix):
    words = f"{kind} is not a function, a callable or a pydantic model. {fix}"
    # A name in place of a function is called by what was written.
    name = "read" if kind == "str" else kind
    assert refused(lambda: rc.Toolbox(source)) == (name, None, words)


def test_toolboxes_add_up():
    assert (rc.Toolbox(send) + read + [write, Answer] + rc.Toolbox()).names() == (
        "send",
        "read",
        "write",
        "Answer",
    )
    assert refused(lambda: box() + read)[:2] == ("read", "name")


@pytest.mark.parametrize(
    ("keep", "names"),
    [
        (["send", "read"], ("read", "send")),
        ({"write"}, ("write",)),
        ("write", ("write",)),
        ((), ()),
        (lambda each: each.name != "write", ("read", "send")),
        (lambda each: "text" in each.parameters["properties"], ("write",)),
    ],
    ids=["list", "set", "one name", "none", "by name", "by schema"],
)
def test_filtering_keeps_the_tools_asked_for_in_their_order(keep, names):
    assert box().filter(keep).names() == names


def test_filtering_by_one_name_keeps_no_tool_whose_name_is_a_part_of_it():
    toolbox = rc.Toolbox(read, rc.tool(send, name="read_all"))
    assert toolbox.filter("read_all").names() == ("read_all",)


def test_a_prefix_goes_before_every_name():
    prefixed = box().prefix("fs_")
    assert prefixed.names() == ("fs_read", "fs_write", "fs_send")
    assert prefixed["fs_read"].handler is read.handler
    assert refused(lambda: box().prefix("fs."))[:2] == ("fs.read", "name")


def test_a_vendors_definition_stays_with_the_vendors_name():
    known = {"anthropic": {"type": "bash_20250124", "name": "bash"}}
    bash = rc.Tool("bash", "Run a command.", native=known)
    kept = rc.Toolbox(bash)
    assert kept["bash"].native
    assert kept.prefix("my_")["my_bash"].native == {}
    assert kept.rename({"bash": "sh"})["sh"].native == {}


def test_a_tool_can_be_renamed_in_its_place():
    assert box().rename({"write": "save"}).names() == ("read", "save", "send")
    assert box().rename({"write": "read", "read": "write"}).names() == ("write", "read", "send")
    assert refused(lambda: box().rename({"write": "read"}))[:2] == ("read", "name")


@pytest.mark.parametrize(
    ("which", "names"),
    [
        (None, ["read", "write", "send"]),
        (["write", "send"], ["write", "send"]),
        ("send", ["send"]),
        (lambda each: each.name == "read", ["read"]),
    ],
    ids=["all", "some", "one", "by question"],
)
def test_approval_can_be_required(which, names):
    toolbox = box().require_approval(which)
    assert toolbox.names() == ("read", "write", "send")
    assert [each.name for each in toolbox if each.approval] == names


def test_a_tool_that_needs_approval_already_keeps_it():
    toolbox = rc.Toolbox(rc.tool(send, approval=True), read).require_approval("read")
    assert [each.approval for each in toolbox] == [True, True]


UNKNOWN: dict[str, Callable[[rc.Toolbox], Any]] = {
    "filter": lambda toolbox: toolbox.filter(["read", "reed"]),
    "filter by one": lambda toolbox: toolbox.filter("reed"),
    "rename": lambda toolbox: toolbox.rename({"reed": "read_it"}),
    "approval": lambda toolbox: toolbox.require_approval({"reed"}),
}


@pytest.mark.parametrize("operate", UNKNOWN.values(), ids=UNKNOWN)
def test_a_name_that_is_not_there_is_refused(operate):
    assert refused(lambda: operate(box())) == (
        "reed",
        None,
        "no such tool in this toolbox, which has read, write, send. Did you mean read?",
    )


def test_no_name_is_in_an_empty_toolbox():
    words = "no such tool in this toolbox, which has none."
    assert refused(lambda: rc.Toolbox().filter(["read"])) == ("read", None, words)


def test_no_operation_changes_the_toolbox_it_starts_from():
    toolbox = box()
    before = list(toolbox)
    toolbox.filter(["read"])
    toolbox.prefix("fs_")
    toolbox.rename({"read": "load"})
    toolbox.require_approval()
    assert toolbox + Answer is not toolbox
    assert list(toolbox) == before
    assert [(each.name, each.approval) for each in toolbox] == [
        ("read", False),
        ("write", False),
        ("send", False),
    ]


def test_a_tool_without_a_description_is_warned_about_once(caplog):
    def track_parcel(number: int) -> str:
        return ""

    def track_letter(number: int) -> str:
        """Tell where a letter is."""
        return ""

    class TrackCrate(BaseModel):
        number: int

    nameless = rc.Tool("track_box", "")
    native = rc.Tool("track_van", "", native={"anthropic": {"type": "track_van_20260101"}})
    sources = [track_parcel, track_letter, nameless, native, rc.tool(TrackCrate)]
    for _ in range(2):
        rc.Toolbox(sources).filter(["track_parcel"])
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [words.split("'")[1] for words in warned] == ["track_parcel", "track_box", "TrackCrate"]
    assert warned[0].endswith("write a docstring, or pass description=")
    assert "test_toolbox.test_a_tool_without" in warned[0]


class Desk:
    """Three tools and other things."""

    @rc.tool
    def find(self, what: str) -> str:
        """Find something."""
        return f"{what} of {type(self).__name__}"

    @classmethod
    @rc.tool
    def count(cls) -> str:
        """Count."""
        return cls.__name__

    @property
    def explosive(self) -> str:
        raise AssertionError

    def plain(self) -> None: ...


class Office(Desk):
    @rc.tool
    def close(self) -> str:
        """Close."""
        return "closed"


def test_an_object_with_methods_that_are_tools_is_those():
    assert rc.Toolbox(Office()).names() == ("find", "count", "close")
    assert rc.Toolbox.of(Desk()).names() == ("find", "count")
    agent = rc.Agent(ScriptedModel([]), [Office()])
    assert agent.tools["find"].handler("x") == "x of Office"


def test_a_class_in_place_of_its_object_and_an_object_without_tools_are_refused():
    with pytest.raises(DeclarationError, match="Take it from an instance"):
        rc.Toolbox(Desk)
    with pytest.raises(DeclarationError, match="it has no methods that are tools"):
        rc.Toolbox.of(object())
