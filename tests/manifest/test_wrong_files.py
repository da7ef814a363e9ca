"""Wrong manifests, by the hundred: each refused with the right words at the right place."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from manifest.kit import Layout, look, manifest, named, plain, said
from rightcall import builtin
from rightcall.manifest.document import BUILT_IN

KINDS = {
    "null": (None, "null"),
    "boolean": (True, "a boolean"),
    "integer": (7, "an integer"),
    "number": (1.5, "a number"),
    "string": ("x", "a string"),
    "array": ([], "an array"),
    "object": ({}, "an object"),
}
STRINGS = {
    "name": '"disk_usage"',
    "description": '"Free and used space of the disks."',
    "command": '"/usr/bin/uptime"',
    "cwd": '"/srv/data"',
}
INTEGERS = {
    "timeout_ms": (1, 3_600_000, 30_000),
    "max_output_bytes": (1, 16_777_216, 65_536),
    "max_processes": (1, 4096, 128),
}
FLAGS = ["treat_nonzero_exit_as_error", "approval", "allow_interpreter"]
WORDS = {
    "stderr": ["merge", "discard"],
    "effect": ["pure", "read", "idempotent", "write"],
    "pids": ["auto", "own", "host"],
}
ARRAYS = ["argv", "env_passthrough"]
OBJECTS = ["facts", "isolation"]
FIELDS = [
    *("name", "description", "command", "timeout_ms", "max_output_bytes", "max_processes", "cwd"),
    *("env_passthrough", "stderr", "treat_nonzero_exit_as_error", "effect", "approval"),
    *("allow_interpreter", "facts", "isolation", "pids", "argv", "parameters"),
]
NO_PARAMETERS = {"argv": ..., "parameters": ...}

Case = tuple[dict[str, Any], str, str]
"""Changes to a tool, the path below it that is wrong, and what is said of it."""


def wrong_kinds() -> Iterator[tuple[str, Case]]:
    """Every field with values of every kind but its own."""
    for field, example in STRINGS.items():
        yield from _kinds(field, "string", "must be a string, not {kind}; write " + example)
    for field, (_, _, example) in INTEGERS.items():
        yield from _kinds(field, "integer", f"must be an integer, not {{kind}}; write {example}")
    for field in FLAGS:
        yield from _kinds(field, "boolean", "must be true or false, not {kind}; write true or false")
    for field, words in WORDS.items():
        listed = " or ".join(f'"{word}"' for word in words)
        yield from _kinds(field, "", f"must be {listed}, not {{text}}; write {listed}")
    for field in ARRAYS:
        rest = {"parameters": ...} if field == "argv" else {}
        yield from _kinds(field, "array", "must be an array, not {kind}; write [ … ]", **rest)
    for field in OBJECTS:
        yield from _kinds(field, "object", "must be an object, not {kind}; write { … }")
    words = (
        "a tool's parameters are a JSON Schema of an object; "
        'write {"type": "object", "properties": { … }}'
    )
    yield from _kinds("parameters", "", words, argv=...)
    for at, (field, words) in enumerate(
        {"argv": "a string or a group", "env_passthrough": "a string"}.items()
    ):
        for name, (value, kind) in KINDS.items():
            if name == "string" or (field == "argv" and name == "array"):
                continue
            fix = ['"…"', '"LANG"'][at]
            if field == "argv" and name in {"boolean", "integer", "number"}:
                fix = json.dumps(json.dumps(value))
            changes = {**NO_PARAMETERS, field: ["A", value]}
            yield (
                f"{field}[1]-{name}",
                (changes, f"{field}[1]", f"must be {words}, not {kind}; write {fix}"),
            )


def _kinds(field: str, own: str, words: str, **more: Any) -> Iterator[tuple[str, Case]]:
    for name, (value, kind) in KINDS.items():
        if name != own:
            told = words.replace("{kind}", kind).replace("{text}", json.dumps(value))
            yield f"{field}-{name}", ({field: value, **more}, field, told)


def wrong_values() -> Iterator[tuple[str, Case]]:
    """Values of the right kind, and wrong all the same."""
    for field, (least, most, _) in INTEGERS.items():
        for value in (least - 1, -5, most + 1, 10**15):
            nearest = least if value < least else most
            words = f"must be from {least:,} to {most:,}, not {value:,}; write {nearest}"
            yield f"{field}-{value}", ({field: value}, field, words)
    names = {
        "": "disk_usage",
        "Search": "search",
        "disk usage": "disk_usage",
        "disk-usage": "disk_usage",
        "9lives": "lives",
        "_x": "x",
        "../etc": "etc",
        "naïve": "na_ve",
        "x" * 65: "x" * 64,
        "a;rm -rf /": "a_rm_rf",
        "a\nb": "a_b",
        "🦆": "disk_usage",
    }
    for name, plainer in names.items():
        words = "a name must be 1 to 64 small letters, digits or _, and begin with a letter"
        fix = (
            json.dumps(plainer)
            if len(plainer) < 60
            else f'"{plainer[:50]}…" ({len(plainer)} characters)'
        )
        yield f"name-{name[:10]!a}", ({"name": name}, "name", f"{words}; write {fix}")
    blank = "is empty; write what the tool does, and when to use it"
    yield "description-empty", ({"description": ""}, "description", blank)
    yield "description-blank", ({"description": " \n"}, "description", blank)
    long = "has 4,001 characters; write at most 4,000"
    yield "description-long", ({"description": "x" * 4001}, "description", long)
    for name, words in {
        "A=B": "is not the name of a variable",
        "": "is not the name of a variable",
        "$HOME": "is not the name of a variable",
        "1A": "is not the name of a variable",
        "*": "is not the name of a variable",
    }.items():
        fix = 'write a name alone, such as "LANG"'
        yield (
            f"variable-{name}",
            ({"env_passthrough": ["LANG", name]}, "env_passthrough[1]", f"{words}; {fix}"),
        )
    for given, near in {"merged": "merge", "Discard": "discard"}.items():
        words = f'must be "merge" or "discard", not "{given}"; write "{near}"'
        yield f"stderr-{given}", ({"stderr": given}, "stderr", words)


def wrong_commands() -> Iterator[tuple[str, Case]]:
    absolute = "must be an absolute path: no PATH is searched, and no shell is asked"
    for given, words in {
        "": f'{absolute}; write "/usr/bin/…"',
        "no-such-program": f'{absolute}; write "/usr/bin/…"',
        "./run.sh": f'{absolute}; write "/usr/bin/…"',
        "../../bin/ls": f'{absolute}; write "/usr/bin/…"',
        "~/bin/x": f'{absolute}; write "/usr/bin/…"',
        "$HOME/bin/x": f'{absolute}; write "/usr/bin/…"',
        "/no/such/file": "there is no such file; install it, or write the path of another",
        "/bin/echo hello": 'holds arguments beside the program; write "/bin/echo", and the rest in argv',
        "/": "is not a regular file; write the path of a program",
        "/tmp": "is not a regular file; write the path of a program",
        "/dev/null": "is not a regular file; write the path of a program",
        "/etc/passwd": "is not executable; run chmod +x /etc/passwd, if it is a program",
        "/bin/\0echo": "a path cannot hold a NUL character; remove it",
        "/" + "x" * 300: "cannot be looked at: File name too long; write the path of a program",
    }.items():
        yield f"command-{given[:16]!a}", ({"command": given}, "command", words)
    for given, words in {
        "here": "must be an absolute path or $SANDBOX; write ",
        "/no/such/place": "there is no such directory; make it, or write another",
        "/etc/passwd": "there is no such directory; make it, or write another",
        "$SANDBOX": "no sandbox was given; pass sandbox=, or --sandbox on the command line",
    }.items():
        yield f"cwd-{given}", ({"cwd": given}, "cwd", words)
    for shell in ("/bin/sh", "/bin/bash"):
        given = {"command": shell, "argv": ["-c", "{pattern}"]}
        words = 'what the model writes would be run as a program, after "-c"'
        yield (
            f"shell-{shell}",
            (given, "command", f"{words}; name the program that is meant, not an interpreter"),
        )
    given = {"command": "/bin/sh", "argv": ["{pattern}"]}
    words = "the model would choose the program that this interpreter runs"
    yield "script", (given, "command", f"{words}; write the script's absolute path as the first element")


def wrong_argv() -> Iterator[tuple[str, Case]]:
    alone = "{pattern} must be an element by itself; text is never joined to what a model writes"
    for given, pieces in {
        "--filter={pattern}": '"--filter", "{pattern}"',
        "-f{pattern}": '"-f", "{pattern}"',
        "{pattern}.txt": '"{pattern}", ".txt"',
        "/data/{pattern}/x": '"/data/", "{pattern}", "/x"',
        "{pattern}{pattern}": '"{pattern}", "{pattern}"',
        " {pattern}": '" ", "{pattern}"',
        "'{pattern}'": '"\'", "{pattern}", "\'"',
        "{{pattern}}": '"{", "{pattern}", "}"',
    }.items():
        changes = {"argv": ["--", "{pattern}", given]}
        yield f"argv-{given}", (changes, "argv[2]", f"{alone}; write {pieces} as elements of their own")
    near = 'there is no parameter "patern"; write "{pattern}"'
    yield "argv-near", ({"argv": ["--", "{pattern}", "{patern}"]}, "argv[2]", near)
    far = 'there is no parameter "host"; add "host" to the properties of parameters'
    yield "argv-far", ({"argv": ["--", "{pattern}", "{host}"]}, "argv[2]", far)
    nul = "an argument cannot hold a NUL character; remove it"
    yield "argv-NUL", ({"argv": ["--", "{pattern}", "\0"]}, "argv[2]", nul)
    group = (
        'a group is a flag and the one parameter that it comes and goes with; write ["--flag", "{name}"]'
    )
    for given in ([], ["-x"], ["{pattern}"], ["-x", "-y"], ["-x", "{pattern}", "{pattern}"]):
        yield f"group-{given}", ({"argv": ["--", "{pattern}", given]}, "argv[2]", group)
    nested = "a group cannot hold another; write its elements here"
    yield "group-nested", ({"argv": ["--", "{pattern}", ["-x", ["-y"]]]}, "argv[2][1]", nested)
    inside = {"argv": ["--", "{pattern}", ["-x", "y={pattern}"]]}
    yield (
        "group-joined",
        (inside, "argv[2][1]", f'{alone}; write "y", "{{pattern}}" as elements of their own'),
    )


def wrong_parameters() -> Iterator[tuple[str, Case]]:
    def with_pattern(schema: Any, **more: Any) -> dict[str, Any]:
        return {"parameters": {"type": "object", "properties": {"pattern": schema}, **more}}

    here = "parameters.properties.pattern"
    yield "type-string", ({"parameters": {"type": "string"}}, "parameters.type", None)
    yield "no-type", ({"parameters": {"properties": {}}}, "parameters", None)
    said_type = 'its type is not said, and it becomes an argument; write "type": "string"'
    for schema in ({}, {"description": "Any."}, {"anyOf": [{"type": "string"}]}, {"$ref": "#"}):
        yield f"untyped-{schema}", (with_pattern(schema), here, said_type)
    one = "cannot become one argument of a program"
    alone = 'write "string", "integer", "number", "boolean", or "array" alone'
    yield "object", (with_pattern({"type": "object"}), f"{here}.type", f"object {one}; {alone}")
    both = with_pattern({"type": ["string", "object"]})
    yield "string-or-object", (both, f"{here}.type", f"object {one}; {alone}")
    mixed = with_pattern({"type": ["string", "array"]})
    beside = "array cannot become an argument beside other types"
    yield "string-or-array", (mixed, f"{here}.type", f"{beside}; {alone}")
    items = "the items of an array become arguments, so their type must be said, and be no other array"
    fix = 'write "items": {"type": "string"}'
    yield "array", (with_pattern({"type": "array"}), here, f"{items}; {fix}")
    for inner in ({}, {"type": "array"}, {"type": "object"}, True):
        given = with_pattern({"type": "array", "items": inner})
        yield f"array-of-{inner}", (given, f"{here}.items", f"{items}; {fix}")
    schema = with_pattern(True)
    yield (
        "true",
        (schema, here, 'must be a schema that says the parameter\'s type; write {"type": "string"}'),
    )
    more = with_pattern({"type": "string"}, additionalProperties=True)
    only = "argv has a place only for the parameters it names; write false"
    yield "additional", (more, "parameters.additionalProperties", only)
    two = {
        "parameters": {
            "type": "object",
            "properties": {"pattern": {"type": "string"}, "other": {"type": "string"}},
        }
    }
    unused = 'the parameter is not used in argv; write "{other}" there, or remove it here'
    yield "unused", (two, "parameters.properties.other", unused)
    for name, plainer in {"a-b": "a_b", "9x": "_x", "": "value", "a b": "a_b"}.items():
        properties = {"pattern": {"type": "string"}, name: {"type": "string"}}
        words = "a parameter's name must be 1 to 64 letters, digits or _, and not begin with a digit"
        odd = {"parameters": {"type": "object", "properties": properties}}
        yield f"name-of-{name}", (odd, f"parameters.properties.{name}", f'{words}; write "{plainer}"')
    bad = with_pattern({"type": "strin"})
    invalid = "not valid JSON Schema: "
    kinds = '"strin" is not a type; there is string, number, integer, boolean, object, array and null'
    yield "bad-type", (bad, f"{here}.type", invalid + kinds)


def wrong_inside() -> Iterator[tuple[str, Case]]:
    flag = "must be true or false, not a string; write true or false"
    yield "untrusted", ({"facts": {"untrusted": "yes"}}, "facts.untrusted", flag)
    yield "private", ({"facts": {"private": "no"}}, "facts.private", flag)
    reach = 'must be "nothing" or "user" or "outside", not "world"'
    told = f'{reach}; write "nothing" or "user" or "outside"'
    yield "reach", ({"facts": {"reach": "world"}}, "facts.reach", told)
    target = 'there is no parameter "host"; write the name of one, or remove it'
    yield "targets", ({"facts": {"targets": ["pattern", "host"]}}, "facts.targets[1]", target)
    yield "network", ({"isolation": {"network": "no"}}, "isolation.network", flag)
    place = "there is no such directory; make it, or write another"
    yield "write", ({"isolation": {"write": ["/no/such/place"]}}, "isolation.write[0]", place)
    by = 'must be "any" or "bubblewrap" or "systemd-run", not "docker"'
    told = f'{by}; write "any" or "bubblewrap" or "systemd-run"'
    yield "by", ({"isolation": {"by": "docker"}}, "isolation.by", told)


CASES = dict(
    case
    for cases in (wrong_kinds, wrong_values, wrong_commands, wrong_argv, wrong_parameters, wrong_inside)
    for case in cases()
)
PARAMETERS = (
    'a tool\'s parameters are a JSON Schema of an object; write {"type": "object", "properties": { … }}'
)


def steps(path: str) -> tuple[str | int, ...]:
    parts = path.replace("[", ".[").split(".")
    return tuple(int(part[1:-1]) if part.startswith("[") else part for part in parts)


@pytest.mark.parametrize("place", [0, 2], ids=["first", "third"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_wrong_value_is_said_where_it_stands_with_what_to_write(case, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changes, path, words = case
    if path == "cwd" and changes["cwd"] == "here":
        words += json.dumps(str(tmp_path / "here")) if len(str(tmp_path)) < 50 else ""
    tools = [plain(name="one"), plain(name="two"), plain(name="three")]
    tools[place] = plain(**{"name": tools[place]["name"], **changes})
    layout = Layout(manifest(*tools))
    where = ("tools", place, *steps(path))
    line, column = layout.values[where]
    expected = f"{line}:{column}: {named(where)}: {PARAMETERS if words is None else words}"
    (found,) = said(look(tmp_path, layout.text))
    assert found[: len(expected)] == expected
    if not (path == "cwd" and changes["cwd"] == "here"):
        assert found == expected


def test_there_are_hundreds_of_them():
    assert len(CASES) * 2 > 400


TYPOS = {
    "timeout": "timeout_ms",
    "timeout-ms": "timeout_ms",
    "Name": "name",
    "args": "argv",
    "env_passthru": "env_passthrough",
    "parameter": "parameters",
    "treat_nonzero_exit_as_eror": "treat_nonzero_exit_as_error",
    "descripton": "description",
    "shell": None,
    "$schema": None,
    "": None,
}


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(("given", "meant"), TYPOS.items())
def test_a_field_that_does_not_exist_is_said_where_its_key_stands(given, meant, place, tmp_path):
    tools = [plain(name="one"), plain(name="two")]
    tools[place][given] = 1
    layout = Layout(manifest(*tools))
    where = ("tools", place, given)
    line, column = layout.keys[where]
    fix = f'write "{meant}"' if meant else f"remove it; there is {', '.join(FIELDS)}"
    assert said(look(tmp_path, layout.text)) == [
        f"{line}:{column}: {named(where)}: there is no such field; {fix}"
    ]


@pytest.mark.parametrize(
    ("field", "fix"),
    [
        ("name", '"name": "disk_usage"'),
        ("description", '"description": "…", which tells the model what it does and when to use it'),
        ("command", '"command": "/usr/bin/…"'),
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_a_field_that_is_missing_is_said_where_its_tool_begins(field, fix, place, tmp_path):
    tools = [plain(name="one"), plain(name="two")]
    del tools[place][field]
    layout = Layout(manifest(*tools))
    line, column = layout.values["tools", place]
    assert said(look(tmp_path, layout.text)) == [
        f'{line}:{column}: tools[{place}]: "{field}" is missing; write {fix}'
    ]


TOPS: list[tuple[Any, list[str]]] = [
    ([], ["1:1: must be an object, not an array; write { … }"]),
    (7, ["1:1: must be an object, not an integer; write { … }"]),
    ({"tools": []}, ['1:1: "version" is missing; write "version": 1']),
    ({"version": 1}, ['1:1: "tools" is missing; write "tools": [ … ]']),
    *(
        ({"version": version, "tools": []}, ["2:15: version: the only version there is is 1; write 1"])
        for version in (0, 2, 1.0, "1", True, None, [], {})
    ),
    *(
        ({"version": 1, "tools": tools}, [f"3:13: tools: must be an array, not {kind}; write [ … ]"])
        for name, (tools, kind) in KINDS.items()
        if name != "array"
    ),
    *(
        (
            {"version": 1, "tools": [tool]},
            [f"4:5: tools[0]: must be an object, not {kind}; write {{ … }}"],
        )
        for name, (tool, kind) in KINDS.items()
        if name != "object"
    ),
    (
        {"version": 1, "tools": [], "tool": []},
        ['4:3: tool: there is no such field; write "tools"'],
    ),
]


@pytest.mark.parametrize(("document", "words"), TOPS)
def test_a_file_must_be_a_manifest(document, words, tmp_path):
    assert said(look(tmp_path, Layout(document).text)) == words


@pytest.mark.parametrize("name", ["shell", "calculate", "web_fetch"])
def test_a_built_in_tools_name_is_not_to_be_had(tmp_path, name):
    layout = Layout(manifest(plain(name=name)))
    line, column = layout.values["tools", 0, "name"]
    assert said(look(tmp_path, layout.text)) == [
        (
            f"{line}:{column}: tools[0].name: is the name of a built-in tool; "
            f'write another, such as "my_{name}"'
        )
    ]


def test_every_built_in_tools_name_is_known(tmp_path):
    made = [
        *builtin.default_tools(),
        *(make(tmp_path) for make in (builtin.apply_patch, builtin.fs, builtin.memory)),
        *(make() for make in (builtin.date_math, builtin.plan, builtin.shell, builtin.web)),
        builtin.text_editor(tmp_path),
        builtin.human(lambda question: question),
    ]
    assert {tool.name for tool in made} <= BUILT_IN


def test_without_a_cwd_it_runs_in_the_sandbox_or_where_we_are(tmp_path, monkeypatch):
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(tmp_path)
    text = Layout(manifest(plain())).text
    readings = look(tmp_path, text), look(tmp_path, text, sandbox=inside)
    assert [reading.entries[0].cwd for reading in readings] == [str(tmp_path), str(inside)]


def test_a_name_can_be_given_once(tmp_path):
    layout = Layout(manifest(plain(), plain(), plain(name="ours")))
    reading = look(tmp_path, layout.text, taken=["ours"])
    first, second = layout.values["tools", 1, "name"], layout.values["tools", 2, "name"]
    assert said(reading) == [
        f"{first[0]}:{first[1]}: tools[1].name: the name is taken, by tools[0]; write another",
        (
            f"{second[0]}:{second[1]}: tools[2].name: "
            "the name is taken, by a tool from elsewhere; write another"
        ),
    ]


def test_everything_that_is_wrong_is_said_at_once(tmp_path):
    changes = [
        (name, case) for name, case in CASES.items() if case[2] is not None and "cwd" not in name
    ][:60]
    tools = [plain(**{"name": f"tool_{index}", **case[0]}) for index, (_, case) in enumerate(changes)]
    layout = Layout(manifest(*tools))
    expected = []
    for index, (_, (_, path, words)) in enumerate(changes):
        where = ("tools", index, *steps(path))
        line, column = layout.values[where]
        expected.append(f"{line}:{column}: {named(where)}: {words}")
    assert said(look(tmp_path, layout.text)) == expected


def test_one_tool_can_have_several_things_wrong_with_it(tmp_path):
    tool = plain(name="No", command="ls", timeout_ms=0, argv=["x={pattern}", "{nobody}"], shell=True)
    found = said(look(tmp_path, Layout(manifest(tool)).text))
    assert [each.split(": ")[1] for each in found] == [
        "tools[0].name",
        "tools[0].command",
        "tools[0].argv[0]",
        "tools[0].argv[1]",
        "tools[0].parameters.properties.pattern",
        "tools[0].timeout_ms",
        "tools[0].shell",
    ]


def test_the_list_has_an_end(tmp_path):
    tools = [{f"x{number}": 1 for number in range(1000)}]
    assert len(look(tmp_path, Layout(manifest(*tools)).text).problems) == 200


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"version": 1,\n "tools": [\xff]}', "2:12: the byte 0xff is not UTF-8; save it as UTF-8"),
        (b"\xc3", "1:1: the byte 0xc3 is not UTF-8; save it as UTF-8"),
        (b" " * (1024 * 1024 + 1), "1:1: has more than 1,048,576 bytes; write several manifests"),
    ],
    ids=["bad-byte", "cut-character", "huge"],
)
def test_a_file_must_be_text_of_a_sensible_size(data, words, tmp_path):
    assert said(look(tmp_path, data)) == [words]
