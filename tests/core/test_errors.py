import copy
import inspect
import pickle

import pytest

import rightcall as rc
from rightcall import errors
from rightcall.errors import DeclarationError, RightcallError, ToolFailure, UsageError, VendorError


class OwnFailure(ToolFailure):
    def __init__(self, account: str, *, left: int) -> None:
        super().__init__(f"{account} has {left} left", retryable=True)
        self.account = account
        self.left = left


def declaration() -> DeclarationError:
    return DeclarationError(
        "send", "it has no annotation.", where="parameter 'to'", fix="Write to: <type>."
    )


def exported():
    return {
        name: each
        for name, each in vars(errors).items()
        if isinstance(each, type) and issubclass(each, BaseException)
    }


def an_instance(kind):
    """One with some word for everything that it must be told."""
    parameters = inspect.signature(kind.__init__).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    return kind(*(f"some {name}" for name in needed if name != "self"))


INSTANCES = [
    *map(an_instance, exported().values()),
    declaration(),
    VendorError(
        "slow down", status=429, vendor_code="rate", retryable=True, retry_after=2.5, request_id="r"
    ),
    ToolFailure("busy", retryable=True),
    OwnFailure("savings", left=3),
]


def facts(error: BaseException) -> tuple[object, ...]:
    return type(error), str(error), error.args, vars(error)


@pytest.mark.parametrize("error", INSTANCES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_survives_pickling_with_its_fields(error, protocol):
    assert facts(pickle.loads(pickle.dumps(error, protocol))) == facts(error)


@pytest.mark.parametrize("error", INSTANCES, ids=lambda error: type(error).__name__)
def test_an_error_can_be_copied(error):
    assert facts(copy.copy(error)) == facts(error)


def test_notes_on_an_error_survive_pickling():
    error = UsageError("not now")
    error.add_note("while doing this")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["while doing this"]


def test_every_error_has_the_one_root():
    assert all(issubclass(each, RightcallError) for each in exported().values())


def test_codes_are_distinct_and_every_class_says_its_own():
    codes = {name: vars(each)["code"] for name, each in exported().items()}
    assert len(set(codes.values())) == len(codes)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("RightcallError", "rightcall"),
        ("DeclarationError", "declaration"),
        ("UsageError", "usage"),
        ("ReplayError", "replay"),
        ("JournalError", "journal"),
        ("EncodeError", "encode"),
        ("ProtocolError", "protocol"),
        ("TruncatedStream", "truncated_stream"),
        ("VendorError", "vendor"),
        ("TransportError", "transport"),
        ("TransportTimeout", "transport_timeout"),
        ("LimitReached", "limit"),
        ("ToolFailure", "tool_failure"),
    ],
)
def test_codes_are_stable(name, code):
    assert exported()[name].code == code


def test_the_tree_in_the_docstring_names_every_error():
    documented = {line.split()[0] for line in (errors.__doc__ or "").splitlines() if line.strip()}
    assert set(exported()) <= documented


def test_a_declaration_error_keeps_its_facts_and_words_them():
    error = declaration()
    assert vars(error) == {
        "tool": "send",
        "where": "parameter 'to'",
        "reason": "it has no annotation.",
        "fix": "Write to: <type>.",
    }
    assert str(error) == "tool 'send', parameter 'to': it has no annotation. Write to: <type>."
    assert str(DeclarationError("send", "it is a method.")) == "tool 'send': it is a method."


def test_a_tool_failure_is_what_the_tool_said():
    assert rc.ToolFailure is ToolFailure
    assert vars(ToolFailure("no such city")) == {
        "message": "no such city",
        "retryable": False,
        "own": False,
    }
    busy = {"message": "busy", "retryable": True, "own": False}
    assert vars(ToolFailure("busy", retryable=True)) == busy
