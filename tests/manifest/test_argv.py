"""What a model says becomes whole arguments of a program, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifest.kit import Layout, look, manifest, plain, said, warned
from rightcall.core.problem import Problem, Valid
from rightcall.manifest.command_tool import (
    ArgumentGroup,
    CommandParameter,
    Entry,
    LiteralArgument,
    Placeholder,
    assemble,
    make_tool,
    problems,
)
from rightcall.manifest.document import inspect

STRING = CommandParameter(types=frozenset({"string"}))
STRINGS = CommandParameter(types=frozenset({"string"}), is_array=True)
INTEGER = CommandParameter(types=frozenset({"integer"}))
MODE = CommandParameter(types=frozenset({"string"}), listed=frozenset({"-i", "-s"}))


def entry(*argv, **known) -> Entry:
    return Entry(name="x", description="x", command="/bin/x", argv=argv, known=known)


PLACES = entry(
    LiteralArgument("-n"),
    ArgumentGroup(("--type",), Placeholder("kind")),
    ArgumentGroup(("--max",), Placeholder("most")),
    ArgumentGroup(("-g",), Placeholder("globs")),
    Placeholder("mode"),
    LiteralArgument("--"),
    Placeholder("pattern", guarded=True),
    Placeholder("files", guarded=True),
    kind=STRING,
    most=INTEGER,
    globs=STRINGS,
    mode=MODE,
    pattern=STRING,
    files=STRINGS,
)


@pytest.mark.parametrize(
    ("arguments", "argv"),
    [
        pytest.param({}, ["-n", "--"], id="left-out"),
        pytest.param({"pattern": None, "files": None, "kind": None}, ["-n", "--"], id="null"),
        pytest.param({"pattern": "a b", "files": []}, ["-n", "--", "a b"], id="no-items"),
        pytest.param({"kind": "py"}, ["-n", "--type", "py", "--"], id="flag-and-value"),
        pytest.param({"most": -5}, ["-n", "--max", "-5", "--"], id="number-after-its-flag"),
        pytest.param(
            {"globs": ["*.a", "*.b"]}, ["-n", "-g", "*.a", "-g", "*.b", "--"], id="flag-for-every-item"
        ),
        pytest.param({"files": ["a", "b c", ""]}, ["-n", "--", "a", "b c", ""], id="spread"),
        pytest.param({"mode": "-i"}, ["-n", "-i", "--"], id="an-option-that-was-listed"),
        pytest.param({"pattern": "-V", "files": ["--help"]}, ["-n", "--", "-V", "--help"], id="guarded"),
        pytest.param({"pattern": ""}, ["-n", "--", ""], id="empty"),
    ],
)
def test_arguments_take_their_places(arguments, argv):
    assert problems(PLACES, arguments) == ()
    assert assemble(PLACES, arguments) == ("/bin/x", *argv)


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (5, "5"), (-5, "-5"), (2.5, "2.5"), (True, "true"), (False, "false")],
)
def test_what_is_no_text_is_written_as_json_writes_it(value, text):
    assert assemble(entry(Placeholder("a")), {"a": value}) == ("/bin/x", text)


OPTION = 'must not begin with "-", which the program would take for an option; got {}'


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        pytest.param({"kind": "-x"}, [("$.kind", OPTION.format('"-x"'))], id="option"),
        pytest.param({"kind": "--"}, [("$.kind", OPTION.format('"--"'))], id="dashes"),
        pytest.param({"mode": "-x"}, [("$.mode", OPTION.format('"-x"'))], id="not-among-the-listed"),
        pytest.param({"globs": ["a", "-b"]}, [("$.globs[1]", OPTION.format('"-b"'))], id="item"),
        pytest.param({"pattern": "a\0"}, [("$.pattern", "must not hold a NUL character")], id="NUL"),
        pytest.param(
            {"kind": "-x", "files": ["\0"]},
            [("$.kind", OPTION.format('"-x"')), ("$.files[0]", "must not hold a NUL character")],
            id="all-at-once",
        ),
        pytest.param(
            {"pattern": {"a": 1}},
            [("$.pattern", "must be text, a number or a boolean: it becomes one argument of a program")],
            id="object",
        ),
    ],
)
def test_what_could_be_an_option_or_cannot_be_an_argument_is_refused(arguments, found):
    assert problems(PLACES, arguments) == tuple(Problem(*each) for each in found)


def test_a_bare_number_below_zero_is_refused_as_an_option():
    bare = entry(Placeholder("most"), most=INTEGER)
    assert problems(bare, {"most": -1}) == (Problem("$.most", OPTION.format('"-1"')),)
    assert problems(bare, {"most": 1}) == ()


@given(st.text(), st.lists(st.text()))
def test_whatever_a_model_writes_is_one_element_or_refused(pattern, files):
    arguments = {"pattern": pattern, "files": files}
    if problems(PLACES, arguments):
        assert any("\0" in text for text in (pattern, *files))
    else:
        assert assemble(PLACES, arguments) == ("/bin/x", "-n", "--", pattern, *files)


@given(st.text())
def test_without_dashes_before_it_no_value_can_be_an_option(text):
    one = entry(Placeholder("kind"), kind=STRING)
    if not problems(one, {"kind": text}):
        assert not assemble(one, {"kind": text})[1].startswith("-")


GROUPED = {
    "argv": [
        "-n",
        ["--type", "{kind}"],
        ["--or", "{most}", "--"],
        "{mode}",
        "--",
        "{pattern}",
        "{}",
        "{a b}",
    ],
    "parameters": {
        "type": "object",
        "properties": {
            "kind": {"type": ["string", "null"]},
            "most": {"type": "integer"},
            "mode": {"enum": ["-i", "-s", None]},
            "pattern": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["pattern"],
    },
}


def test_a_file_says_where_arguments_go(tmp_path):
    reading = look(tmp_path, Layout(manifest(plain(**GROUPED))).text)
    assert said(reading) == []
    (found,) = reading.entries
    assert found.argv == (
        LiteralArgument("-n"),
        ArgumentGroup(("--type",), Placeholder("kind")),
        ArgumentGroup(("--or",), Placeholder("most"), ("--",)),
        Placeholder("mode"),
        LiteralArgument("--"),
        Placeholder("pattern", guarded=True),
        LiteralArgument("{}"),
        LiteralArgument("{a b}"),
    )
    assert found.known == {
        "kind": CommandParameter(types=frozenset({"string"})),
        "most": CommandParameter(types=frozenset({"integer"})),
        "mode": CommandParameter(types=frozenset({"string"}), listed=frozenset({"-i", "-s", "null"})),
        "pattern": CommandParameter(types=frozenset({"string"}), is_array=True, required=True),
    }
    assert found.parameters == {**GROUPED["parameters"], "additionalProperties": False}


NO_DASHES = (
    'no "--" stands before the string "pattern", so a value that begins with "-" is refused; '
    'write "--" before it, if the program knows that; or list its values in an enum'
)


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        pytest.param({"argv": ["{pattern}"]}, "argv[0]", NO_DASHES, id="bare"),
        pytest.param({"argv": ["{pattern}", "--"]}, "argv[0]", NO_DASHES, id="dashes-after-it"),
        pytest.param({"argv": [["-e", "{pattern}"], "--"]}, "argv[0][1]", NO_DASHES, id="group"),
        pytest.param({"argv": [["--", "{pattern}"]]}, "argv[0][1]", NO_DASHES, id="dashes-in-a-group"),
        pytest.param(
            {"env_passthrough": ["API_TOKEN"]},
            "env_passthrough[0]",
            "API_TOKEN looks like a secret, which the program could print; remove it, if it is",
            id="secret",
        ),
        pytest.param(
            {"env_passthrough": ["LANG", "LD_PRELOAD"]},
            "env_passthrough[1]",
            "LD_PRELOAD can make the program run other code; remove it, unless it must be",
            id="loader",
        ),
        pytest.param(
            {"command": "/usr/bin/env", "argv": ["/bin/echo", "--", "{pattern}"]},
            "command",
            "this program runs other programs, and the model fills in some of its arguments",
            id="wrapper",
        ),
    ],
)
def test_what_may_not_be_meant_is_warned_about(tmp_path, changes, path, words):
    layout = Layout(manifest(plain(**changes)))
    steps = [int(s[1:-1]) if s.startswith("[") else s for s in path.replace("[", ".[").split(".")]
    line, column = layout.values["tools", 0, *steps]
    reading = look(tmp_path, layout.text)
    assert (said(reading), warned(reading)) == ([], [f"{line}:{column}: tools[0].{path}: {words}"])


def test_a_flag_that_would_be_left_alone_is_warned_about(tmp_path):
    optional = {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}}
    tool = plain(argv=["--type", "{kind}"], parameters=optional)
    (found,) = warned(look(tmp_path, Layout(manifest(tool)).text))
    assert found.endswith(
        'tools[0].argv[1]: "--type" stays when "kind" is left out; '
        'write ["--type", "{kind}"] to drop both'
    )


def test_nothing_is_warned_about_that_cannot_go_wrong(tmp_path):
    numbers = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tools = [plain(), plain(name="n", argv=["{n}"], parameters=numbers), plain(name="m", **NOTHING)]
    reading = look(tmp_path, Layout(manifest(*tools)).text)
    assert (said(reading), warned(reading)) == ([], [])


NOTHING = {"argv": ..., "parameters": ...}


def test_the_gate_judges_by_the_schema_and_by_the_program(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text(Layout(manifest(plain(argv=["{pattern}"]))).text)
    tool = make_tool(inspect(path).entries[0])
    assert isinstance(tool.validate("", {"pattern": "x"}), Valid)
    assert tool.validate("", {}) == (Problem("$.pattern", "is required and missing"),)
    assert tool.validate("", {"pattern": "-x"}) == (Problem("$.pattern", OPTION.format('"-x"')),)
    assert tool.validate("", {"pattern": "x", "y": 1}) == (
        Problem("$.y", 'is not a parameter; there is "pattern"'),
    )
