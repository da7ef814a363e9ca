"""The command line: tools from a file, looked at and called as a model would."""

import ast
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rightcall as rc
from rightcall import cli
from rightcall.cli import work
from rightcall.cli.commands import COMMANDS, FIRST, FORMER, GROUPS
from rightcall.cli.main import main

TOOLS = '''
import sys
from dataclasses import dataclass
import rightcall as rc


@rc.tool
def add(left: int, right: int = 1) -> int:
    """Add two numbers.

    Args:
        left: The first.
    """
    return left + right


@rc.tool
async def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello, {name}!"


@rc.tool
def breaks() -> None:
    """Always break."""
    raise KeyError("hunter2")


@rc.tool
def draw() -> bytes:
    """Draw."""
    return b"\\x89PNG\\r\\n\\x1a\\n" + bytes(2000)


class Account:
    @rc.tool
    def balance(self) -> int:
        """A method, which waits for an instance."""
        return 0


def plain(text: str) -> str:
    """Not decorated."""
    return text.upper()


box = rc.Toolbox(greet.replace(name="hello"), plain)
same = add
number = 5
'''

NAMES = list(COMMANDS)
FIRST_NAMES = [name for commands in FIRST.values() for name in commands]
MOST_FIRST = 10
"""The commands that ``rightcall --help`` shows, besides the groups."""


@pytest.fixture
def tools(tmp_path: Path) -> str:
    path = tmp_path / "my_tools.py"
    path.write_text(TOOLS)
    return str(path)


def names(text: str) -> list[str]:
    return [spec["name"] for spec in json.loads(text)]


def test_specs_prints_what_a_model_is_told(tools, capsys):
    assert main(["specs", f"{tools}:add"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out), err) == (
        [
            {
                "name": "add",
                "description": "Add two numbers.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "left": {"type": "integer", "description": "The first."},
                        "right": {"type": "integer", "default": 1},
                    },
                    "required": ["left"],
                    "additionalProperties": False,
                },
            }
        ],
        "",
    )


def test_specs_of_a_file_are_all_that_it_declares_once(tools, capsys):
    assert main(["specs", tools]) == 0
    assert names(capsys.readouterr().out) == ["add", "greet", "breaks", "draw", "hello", "plain"]


@pytest.mark.parametrize(
    ("name", "found"), [("greet", ["greet"]), ("plain", ["plain"]), ("box", ["hello", "plain"])]
)
def test_a_name_after_a_colon_takes_one_thing_from_the_file(tools, name, found, capsys):
    assert main(["specs", f"{tools}:{name}"]) == 0
    assert names(capsys.readouterr().out) == found


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (["add", '{"left": 41}'], "42\n"),
        (["greet", '{"name": "Ada"}'], "Hello, Ada!\n"),
        (["plain", '{"text": "naïve"}'], "NAÏVE\n"),
        (["draw"], "[image/png, 2,008 bytes]\n"),
    ],
    ids=["json", "async", "plain-function", "media"],
)
def test_call_prints_the_result(tools, arguments, out, capsys):
    assert main(["call", tools, *arguments]) == 0
    assert capsys.readouterr() == (out, "")


@pytest.mark.parametrize(
    ("arguments", "out", "err"),
    [
        pytest.param(
            ["add", '{"left": "x"}'],
            "add was not run; its arguments do not fit:\n"
            '- $.left: must be an integer, not a string ("x")\n',
            "rightcall: invalid\n",
            id="invalid",
        ),
        pytest.param(
            ["add"],
            "add was not run; its arguments do not fit:\n- $.left: is required and missing\n",
            "rightcall: invalid\n",
            id="no-arguments",
        ),
        pytest.param(
            ["ad"],
            'There is no tool "ad". Did you mean add? '
            "Available: add, greet, breaks, draw, hello, plain.\n",
            "rightcall: unknown\n",
            id="unknown",
        ),
    ],
)
def test_a_call_that_does_not_succeed_says_why_and_exits_with_1(tools, arguments, out, err, capsys):
    assert main(["call", tools, *arguments]) == 1
    assert capsys.readouterr() == (out, err)


def test_the_developer_sees_the_traceback_that_the_model_does_not(tools, capsys):
    assert main(["call", tools, "breaks"]) == 1
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert out.partition(":")[0] in err
    assert err.startswith("rightcall: failed\nTraceback")
    assert err.endswith("KeyError: 'hunter2'\n")


@pytest.mark.parametrize("command", [["specs"], ["call"]])
@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        pytest.param("absent.py", None, "there is no file {path}", id="absent"),
        pytest.param("notes.txt", "hello", "{path} is not a Python file", id="not-python"),
        pytest.param(
            "empty.py",
            "x = 1",
            "{path} declares no tools; decorate a function with @rc.tool",
            id="no-tools",
        ),
        pytest.param(
            "bare.py",
            "import rightcall as rc\n@rc.tool\ndef f(x): ...\n",
            "tool 'f', parameter 'x': it has no annotation. Write x: <type>.",
            id="bad-declaration",
        ),
    ],
)
def test_a_file_without_good_tools_is_bad_usage(tmp_path, command, file, content, words, capsys):
    path = tmp_path / file
    if content is not None:
        path.write_text(content)
    assert main([*command, str(path), *(["f"] if command == ["call"] else [])]) == 2
    assert capsys.readouterr() == ("", f"rightcall: {words.format(path=path)}\n")


@pytest.mark.parametrize(
    ("content", "last"),
    [
        ("def (", "SyntaxError: invalid syntax"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_bad_usage_and_shows_where(tmp_path, content, last, capsys):
    path = tmp_path / "broken_tools.py"
    path.write_text(content)
    assert main(["specs", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"rightcall: {path} cannot be loaded:\nTraceback")
    assert f'File "{path}", line 1' in err
    assert err.endswith(f"{last}\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nosuch", "{path} has no 'nosuch'"),
        (
            "number",
            (
                "tool 'int': int is not a function, a callable or a pydantic model. "
                "Give the function itself, not what it returned: get_weather, without parentheses."
            ),
        ),
    ],
)
def test_a_name_that_is_no_tool_is_bad_usage(tools, name, words, capsys):
    assert main(["specs", f"{tools}:{name}"]) == 2
    assert capsys.readouterr() == ("", f"rightcall: {words.format(path=tools)}\n")


def test_a_file_may_import_its_neighbours_and_have_the_name_of_a_module(tmp_path, capsys):
    (tmp_path / "neighbour_of_json.py").write_text("ANSWER = 42")
    path = tmp_path / "json.py"
    path.write_text(
        "from neighbour_of_json import ANSWER\n"
        "import rightcall as rc\n"
        "@rc.tool\n"
        "def answer() -> int:\n"
        "    return ANSWER\n"
    )
    before = list(sys.path)
    assert main(["call", str(path), "answer"]) == 0
    assert capsys.readouterr() == ("42\n", "")
    assert sys.modules["json"] is json
    assert sys.path == before


def test_the_package_is_the_command():
    command = [sys.executable, "-m", "rightcall", "--version"]
    assert subprocess.check_output(command, text=True) == f"{rc.__version__}\n"


def test_version_is_the_packages(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"{rc.__version__}\n")


@pytest.mark.parametrize(
    "arguments", [[], ["nosuch"], ["specs"], ["call", "x.py"], ["--nosuch"], ["models", "x"]]
)
def test_bad_usage_of_the_command_itself_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert err.startswith("usage: rightcall")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["aks"], "no command 'aks'; did you mean 'ask'?"),
        (["jurnal"], "no command 'jurnal'; did you mean 'journal'?"),
        (["footprnt"], "no command 'footprnt'; did you mean 'tools footprint'?"),
        (["tool"], "no command 'tool'; did you mean 'tools'?"),
        (["xyzzy"], f"no command 'xyzzy'; there is {', '.join([*FIRST_NAMES, *GROUPS])}"),
        (["--aks"], "no option '--aks' before a command"),
        ([], "which command? rightcall --help lists them"),
    ],
)
def test_a_mistake_in_the_command_says_what_to_do(arguments, words, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert capsys.readouterr().err == f"usage: rightcall COMMAND [...]\nrightcall: error: {words}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tools", "lnt"], "no command 'tools lnt'; did you mean 'tools lint'?"),
        (["debug", "xyzzy"], "no command 'debug xyzzy'; there is render, sse"),
        (["runs"], "which command? rightcall runs --help lists them"),
        (["runs", "--aks"], "no option '--aks' before a command"),
    ],
)
def test_a_mistake_in_a_groups_command_says_what_to_do(arguments, words, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    begun = f"rightcall {arguments[0]}"
    assert capsys.readouterr().err == f"usage: {begun} COMMAND [...]\n{begun}: error: {words}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ask", "--modle", "x", "hi"], "no option '--modle'; did you mean --model?"),
        (
            ["serve", "-m", "openai:gpt-5", "--port", "1"],
            "no option '-m'; did you mean --model NAME=SPEC?",
        ),
        (["serve", "--port", "1"], "no option '--port'; did you mean --listen [HOST:]PORT?"),
        (["tools", "lint", "--ignroe=vague"], "no option '--ignroe'; did you mean --ignore?"),
        (["keys", "set", "-x", "openai"], "no option '-x'"),
    ],
)
def test_a_misspelt_option_is_named_with_the_one_that_is_meant(arguments, words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(f": error: {words}")


def shown_commands(text: str) -> list[str]:
    lines = text.split("options:", maxsplit=1)[0].splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ")]


def test_help_shows_the_first_commands_by_purpose_the_groups_and_examples(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert shown_commands(out) == [*FIRST_NAMES, *GROUPS]
    assert len(FIRST_NAMES) <= MOST_FIRST
    assert [title for title in FIRST if f"{title}:\n" not in out] == []
    assert "examples:\n  rightcall ask" in out


@pytest.mark.parametrize("group", GROUPS)
def test_help_of_a_group_shows_its_commands(group, capsys):
    with pytest.raises(SystemExit) as ended:
        main([group, "--help"])
    assert ended.value.code == 0
    assert shown_commands(capsys.readouterr().out) == list(GROUPS[group].commands)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*name.split(), "--help"])
    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert out.startswith(f"usage: rightcall {name}")


@pytest.mark.parametrize("name", FORMER)
def test_a_command_is_still_found_where_it_was(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: rightcall {FORMER[name]}")
    assert FORMER[name] in COMMANDS


def test_every_command_has_a_module_that_carries_it_out():
    folder = Path(work.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert modules == {command.work for command in COMMANDS.values()}
    assert [name for name in modules if not callable(import_module(f"{work.__name__}.{name}").run)] == []


def test_a_flag_that_commands_share_is_declared_once():
    folder = Path(cli.__file__).parent
    declared = re.findall(
        r'"(--max-tokens|--temperature|--seed|--mcp|--sandbox|--facts|--dry-run|--descriptions|--schema)"',
        "".join(path.read_text() for path in (folder / "commands").glob("*.py")),
    )
    # A gateway takes one file of servers; everything else is in options.py.
    assert declared == ["--mcp"]


def test_only_extras_are_imported_inside_of_functions():
    found = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for path in Path(cli.__file__).parent.rglob("*.py")
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert found == {
        "difflib",
        "readline",
        "rich.console",
        "rightcall.models.local",
        "rightcall.cli.work",
    }


@pytest.mark.parametrize(
    "arguments", [[], *([name] for name in GROUPS), *(name.split() for name in NAMES)], ids=" ".join
)
def test_help_loads_nothing_heavy(arguments):
    heavy = [
        "pydantic",
        "msgspec",
        "rich",
        "httptools",
        "asyncio",
        "jinja2",
        "jsonschema_rs",
        "readline",
    ]
    if not arguments or arguments in [[name] for name in GROUPS]:
        heavy.append("logging")
    script = (
        f"import sys\nsys.path[:] = {sys.path!r}\nfrom rightcall.cli.main import main\n"
        f"try:\n    main({[*arguments, '--help']!r})\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    # -S leaves out site, whose path files may load anything.
    command = [sys.executable, "-S", "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (ran.returncode, ran.stderr) == (0, "[]\n")


@pytest.mark.parametrize(
    ("arguments", "code", "out"),
    [(["add", '{"left": 1}'], 0, "2\n"), (["nosuch"], 1, 'There is no tool "nosuch".')],
)
def test_the_installed_command_is_the_same(tools, arguments, code, out):
    command = Path(sys.executable).with_name("rightcall")
    script = [str(command)] if command.exists() else [sys.executable, "-m", "rightcall.cli.main"]
    ran = subprocess.run(
        [*script, "call", tools, *arguments], capture_output=True, timeout=30, check=False
    )
    assert (ran.returncode, ran.stdout.decode()[: len(out)]) == (code, out)


@pytest.mark.parametrize("command", [["--help"], ["specs", "{tools}"]], ids=["help", "specs"])
def test_closed_streams_are_no_reason_to_break(tools, command):
    script = [
        sys.executable,
        "-m",
        "rightcall.cli.main",
        *(each.format(tools=tools) for each in command),
    ]
    closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *script]
    assert subprocess.run(closed, timeout=30, check=False).returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no disk that is always full")
def test_a_full_disk_is_said_in_words(tools):
    script = [sys.executable, "-m", "rightcall.cli.main", "specs", tools]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(script, stdout=full, stderr=subprocess.PIPE, timeout=30, check=False)
    assert (ran.returncode, ran.stderr) == (1, b"rightcall: [Errno 28] No space left on device\n")


@pytest.mark.parametrize("flag", ["-v", "--verbose", "-vv"])
def test_a_group_takes_flags_before_its_command(tools, flag, capsys):
    assert main(["tools", "footprint", tools]) == 0
    after = capsys.readouterr().out
    assert main(["tools", flag, "footprint", tools]) == 0
    assert capsys.readouterr().out == after
