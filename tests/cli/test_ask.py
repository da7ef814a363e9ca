"""``rightcall ask``: one run, for people, for pipes and for programs."""

import json
import os
import signal
import subprocess

import pytest

from cli.kit import Ran, Terminal, command, environment, run
from rightcall.builtin import default_tools
from rightcall.cli.main import main
from rightcall.cli.summary import PATIENCE
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.sqlite import SqliteJournal


def ask(*arguments: str) -> int:
    return main(["ask", "--tool", "world.py", *arguments])


def test_the_answer_goes_to_stdout_and_what_happened_to_stderr(home):
    ran = run(home, "ask", "--tool", "world.py", "--model", "world.py:weather", "Weather?")
    assert (ran.code, ran.out) == (0, "It is sunny.\n")
    *lines, spent = ran.err.splitlines()
    assert lines == [
        "said: Let me look.",
        'call: get_weather {"city":"Paris"}',
        "returned: get_weather in 0.0 s: Sunny in Paris.",
    ]
    assert spent.partition(" s, ")[2] == "2 turns, 1,210 tokens in (1,000 cached), 12 out, $0.0123"


def test_quiet_says_nothing_about_the_run(home, capsys):
    assert ask("--quiet", "--model", "world.py:weather", "Weather?") == 0
    assert capsys.readouterr() == ("It is sunny.\n", "")


@pytest.mark.parametrize(
    ("model", "options", "out", "complaint"),
    [
        pytest.param("refuses", [], "I cannot do that.\n", "the model refused", id="refusal"),
        pytest.param(
            "cut",
            [],
            "A long st\n",
            "the reply reached its limit of tokens and is cut off",
            id="length",
        ),
        pytest.param(
            "loops", ["--max-turns", "2"], "", "the run reached its limit of turns", id="turns"
        ),
        pytest.param(
            "slow", ["--timeout", "0.05"], "", "the run reached its limit of seconds", id="seconds"
        ),
        pytest.param("broken", [], "", "HTTP 529: overloaded ␛[31m", id="error"),
    ],
)
def test_a_run_without_an_answer_says_why_and_exits_with_1(home, model, options, out, complaint, capsys):
    assert ask("--quiet", "--model", f"world.py:{model}", *options, "?") == 1
    assert capsys.readouterr() == (out, f"rightcall: {complaint}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "nosuch:model"], "no provider 'nosuch'"),
        (["--model", "world.py"], "world.py: say which model in it, as world.py:NAME"),
        (["--model", "world.py:nosuch"], "world.py has no 'nosuch'"),
        (["--model", "world.py:not_a_model"], "is not a model: one has a profile and a stream"),
        (["--model", "world.py:a_class"], "is not a model: one has a profile and a stream"),
        (["--model", "world.py:echo", "--tool", "absent.py"], "there is no file absent.py"),
        (["--model", "world.py:echo", "--choice", "get_wether"], "did you mean 'get_weather'?"),
        (["--model", "world.py:echo", "--journal", "x.txt"], "the name must end in .jsonl, "),
        (["--model", "world.py:echo", "--journal", "no/such/x.jsonl"], "no/such/x.jsonl"),
    ],
)
def test_what_cannot_be_begun_is_bad_usage(home, arguments, words, capsys):
    assert ask("?", *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rightcall: ")
    assert words in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--max-turns", "0"],
        ["--timeout", "nan"],
        ["--timeout", "-1"],
        ["--temperature", "warm"],
        ["--yes", "--no"],
        ["--nosuch"],
    ],
    ids=" ".join,
)
def test_options_that_make_no_sense_are_bad_usage(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        ask("?", *arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: rightcall ask")


def test_the_options_reach_the_model(home, capsys):
    arguments = ["--quiet", "--model", "world.py:echo", "--instructions", "Be brief."]
    sampling = ["--temperature", "0.5", "--seed", "7", "--max-tokens", "99", "--choice", "get_weather"]
    assert ask(*arguments, *sampling, "Hello") == 0
    assert capsys.readouterr().out == (
        "1: Hello; Be brief.; Named(name='get_weather'); {'temperature': 0.5, 'seed': 7}; 99\n"
    )


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [([], b"from a pipe\n"), (["-"], b"from a pipe\n")],
    ids=["piped", "dash"],
)
def test_the_question_may_come_from_a_pipe(home, arguments, stdin):
    ran = run(home, "ask", "--quiet", "--model", "world.py:echo", *arguments, stdin=stdin)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("1: from a pipe\n; ")


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [([], b"caf\xe9?"), ([os.fsdecode(b"caf\xe9?")], b"")],
    ids=["pipe", "argument"],
)
def test_bytes_that_are_no_text_are_asked_as_such(home, arguments, stdin):
    ran = run(home, "ask", "--quiet", "--model", "world.py:echo", *arguments, stdin=stdin)
    assert (ran.code, ran.out[:9]) == (0, "1: caf\ufffd?;")


def test_an_empty_pipe_is_no_question(home):
    ran = run(home, "ask", "--model", "world.py:echo", stdin=b" \n")
    assert ran == Ran(2, "", "rightcall: standard input holds no question\n")


def test_the_default_tools_are_offered_unless_they_are_not_wanted(home, capsys):
    (home / "names.py").write_text(
        "from rightcall.testing import ScriptedModel\n"
        "model = ScriptedModel(lambda request: f'{[spec.name for spec in request.specs]}')\n"
    )
    (home / "own.py").write_text(
        "import rightcall as rc\n@rc.tool\ndef calculate(x: int) -> int:\n    return x\n"
    )
    quietly = ["ask", "--quiet", "--model", "names.py:model", "?"]
    assert main(quietly) == 0
    assert main([*quietly, "--no-default-tools"]) == 0
    assert main([*quietly, "--tool", "own.py"]) == 0
    defaults = [tool.name for tool in default_tools()]
    others = [name for name in defaults if name != "calculate"]
    assert capsys.readouterr().out == f"{defaults}\n[]\n{[*others, 'calculate']}\n"


@pytest.mark.parametrize(
    ("file", "kind"), [("runs.jsonl", JsonLinesJournal), ("runs.db", SqliteJournal)]
)
def test_a_run_is_recorded_in_the_journal_that_the_name_says(home, file, kind, capsys):
    assert ask("--json", "--journal", file, "--model", "world.py:weather", "Weather?") == 0
    ended = json.loads(capsys.readouterr().out.splitlines()[-1])
    journal = kind(home / file)
    assert journal.runs() == (ended["run"],)
    assert type(list(journal.entries(ended["run"]))[-1]).__name__ == "RunEnded"
    journal.close()


@pytest.mark.parametrize(
    ("options", "result"),
    [
        (["--yes"], "sent to bob"),
        (["--no"], "send_mail was not run; permission was denied."),
        ([], "send_mail was not run; permission was denied: nobody is there to approve it"),
    ],
    ids=["yes", "no", "not-a-terminal"],
)
def test_approvals_away_from_a_terminal(home, options, result, capsys):
    assert ask("--json", "--model", "world.py:mail", *options, "Say hi to Bob.") == 0
    (call,) = json.loads(capsys.readouterr().out.splitlines()[-1])["calls"]
    assert call["text"] == result


def without(value: dict[str, object], *names: str) -> dict[str, object]:
    return {name: each for name, each in value.items() if name not in names}


def test_json_is_every_event_and_then_the_runs_end(home):
    ran = run(home, "ask", "--json", "--tool", "world.py", "--model", "world.py:weather", "Weather?")
    *events, end = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.code, ran.err) == (0, "")
    seen = [event["event"] for event in events]
    assert seen[:2] == ["turn_start", "reasoning_delta"]
    assert sorted(set(seen)) == [
        "call_delta",
        "call_end",
        "call_start",
        "reasoning_delta",
        "reply_end",
        "result_end",
        "text_delta",
        "turn_start",
    ]
    first = {kind: next(event for event in events if event["event"] == kind) for kind in set(seen)}
    called = {"id": "call_1_0", "name": "get_weather", "arguments": '{"city":"Paris"}'}
    none = {"cached_tokens": 0, "cache_written_tokens": 0, "reasoning_tokens": 0, "cost": None}
    assert first["turn_start"] == {"event": "turn_start", "turn": 1}
    assert first["reasoning_delta"] == {"event": "reasoning_delta", "text": "Hm."}
    assert first["text_delta"] == {"event": "text_delta", "text": "Let "}
    assert first["call_start"] == {
        "event": "call_start", "index": 0, "id": "call_1_0", "name": "get_weather",
    }  # fmt: skip
    assert first["call_delta"] == {"event": "call_delta", "index": 0, "text": '{"ci'}
    assert first["call_end"] == {"event": "call_end", "index": 0, **called}
    assert first["reply_end"] == {
        "event": "reply_end",
        "text": "Let me look.",
        "calls": [{**called, "truncated": False}],
        "stop": "calls",
        "stop_word": "",
        "model": "",
        "usage": {"input_tokens": 10, "output_tokens": 5, **none},
    }
    result = {"outcome": "returned", "text": "Sunny in Paris."}
    assert without(first["result_end"], "seconds") == {
        "event": "result_end", "id": "call_1_0", "name": "get_weather", "media": [], **result,
    }  # fmt: skip
    assert [without(call, "seconds") for call in end["calls"]] == [{**called, **result, "error": ""}]
    assert without(end, "calls", "run", "seconds") == {
        "event": "run_end",
        "text": "It is sunny.",
        "stop": {"reason": "end", "limit": None, "detail": ""},
        "usage": {
            "input_tokens": 1210,
            "output_tokens": 12,
            **none,
            "cached_tokens": 1000,
            "cost": 0.0123,
        },
        "turns": 2,
    }
    assert end["seconds"] > 0


def test_json_ends_with_the_runs_end_when_the_run_breaks(home, capsys):
    assert ask("--json", "--model", "world.py:broken", "?") == 1
    end = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (end["event"], end["stop"]) == (
        "run_end",
        {"reason": "error", "limit": None, "detail": "HTTP 529: overloaded \x1b[31m"},
    )


def interrupted(home, *arguments: str, after: str, stream: str) -> Ran:
    """The command, interrupted when a line with these words has come."""
    words = command("ask", "--tool", "world.py", *arguments, "?")
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, cwd=home, env=environment(home)) as process:
        seen = b""
        source = getattr(process, stream)
        while after.encode() not in seen:
            line = source.readline()
            assert line, seen
            seen += line
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    whole = {"stdout": out, "stderr": err, stream: seen + {"stdout": out, "stderr": err}[stream]}
    return Ran(process.returncode, whole["stdout"].decode(), whole["stderr"].decode())


def test_an_interrupt_cancels_the_run_and_says_what_was_done(home):
    ran = interrupted(home, "--model", "world.py:stuck", after="returned:", stream="stderr")
    assert (ran.code, ran.out) == (130, "")
    assert "rightcall: interrupted; done: get_weather returned\n" in ran.err


def test_an_interrupt_while_a_tool_runs_cancels_the_tool(home):
    ran = interrupted(home, "--model", "world.py:busy", after="said:", stream="stderr")
    assert (ran.code, ran.out) == (130, "Let me.\n")
    assert "rightcall: interrupted; no call had finished\n" in ran.err


def test_an_interrupted_run_has_its_end_in_json_too(home):
    ran = interrupted(home, "--json", "--model", "world.py:stuck", after="result_end", stream="stdout")
    end = json.loads(ran.out.splitlines()[-1])
    assert (ran.code, ran.err) == (130, "")
    assert end["stop"] == {"reason": "interrupted", "limit": None, "detail": ""}
    assert [(call["name"], call["outcome"]) for call in end["calls"]] == [("get_weather", "returned")]


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["plain", "json"])
def test_a_reader_that_has_had_enough_ends_it_quietly(home, options):
    words = command("ask", *options, "--quiet", "--model", "world.py:lines", "?")
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, cwd=home, env=environment(home)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        assert (process.wait(timeout=30), err) == (141, b"")


@pytest.mark.parametrize(
    ("encoding", "out"),
    [("ascii", "na\\xefve \\u2192 \\ud800!\n"), ("utf-8", "naïve → \\ud800!\n")],
)
def test_a_stream_that_cannot_take_a_character_gets_its_number(home, encoding, out):
    extra = {"PYTHONUTF8": "0", "PYTHONIOENCODING": encoding, "LC_ALL": "C"}
    ran = run(home, "ask", "--quiet", "--model", "world.py:odd", "?", extra=extra)
    assert ran == Ran(0, out, "")


def test_json_is_ascii_whatever_was_said(home):
    ran = run(home, "ask", "--json", "--model", "world.py:odd", "?")
    assert ran.out.isascii()
    assert json.loads(ran.out.splitlines()[-1])["text"] == "naïve → \ud800!"


def test_a_pipe_gets_what_was_said_as_it_was_said_and_people_get_it_harmless(home):
    ran = run(home, "ask", "--tool", "world.py", "--model", "world.py:evil", "?")
    assert ran.out == "An\x1b[2J answer\x9b31m.\r\nEnd\n"
    assert "\x1b" not in ran.err
    assert "\u202e" not in ran.err


def test_a_call_that_says_how_far_it_is_is_an_event_too(home, capsys):
    (home / "steps.py").write_text(
        "import rightcall as rc\nfrom rightcall.testing import ScriptedModel, call, reply\n"
        "@rc.tool\ndef unpack(context: rc.Context) -> str:\n    context.progress(1, 2, 'half')\n"
        "    return 'done'\n"
        "model = ScriptedModel([reply(call('unpack')), 'Done.'])\n"
    )
    assert main(["ask", "--json", "--tool", "steps.py", "--model", "steps.py:model", "?"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event for event in events if event["event"] == "call_progress"] == [
        {"event": "call_progress", "id": "call_1_0", "done": 1.0, "total": 2.0, "text": "half"}
    ]


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["plain", "json"])
def test_what_tools_print_is_no_part_of_the_answer(home, options):
    (home / "chatty.py").write_text(
        "import rightcall as rc\nfrom rightcall.testing import ScriptedModel, call, reply\n"
        "print('loaded')\n@rc.tool\ndef shout() -> str:\n    print('working')\n    return 'done'\n"
        "model = ScriptedModel([reply(call('shout')), 'Answer.'])\n"
    )
    ran = run(home, "ask", *options, "--tool", "chatty.py", "--model", "chatty.py:model", "?")
    assert ran.code == 0
    # The file that is named twice is loaded once.
    assert [ran.err.splitlines().count(word) for word in ("loaded", "working")] == [1, 1]
    lines = ran.out.splitlines()
    assert lines == ["Answer."] if not options else [json.loads(line) for line in lines]


def test_on_a_terminal_the_run_is_shown_as_it_happens(home):
    with Terminal(home, "ask", "--tool", "world.py", "--model", "world.py:weather", "?") as terminal:
        assert terminal.end() == 0
        *lines, spent = terminal.text.splitlines()
        assert lines == [
            "thought for 0.0 s",
            "Let me look.",
            '→ get_weather {"city":"Paris"}',
            "← get_weather 0.0 s Sunny in Paris.",
            "It is sunny.",
        ]
        assert spent.endswith(" s, 2 turns, 1,210 tokens in (1,000 cached), 12 out, $0.0123")
        assert "\x1b[2mthought for" in terminal.raw


@pytest.mark.parametrize(
    "extra", [{}, {"TERM": "dumb"}, {"NO_COLOR": "1"}], ids=["colours", "dumb", "no-color"]
)
def test_nothing_that_a_model_writes_reaches_the_terminal_as_a_command(home, extra):
    arguments = ["--tool", "world.py", "--model", "world.py:evil", "?"]
    with Terminal(home, "ask", *arguments, extra=extra) as terminal:
        assert terminal.end() == 0
        for sequence in ("\x1b[2J", "\x1b]0;", "\x07", "\x9b", "\u202e"):
            assert sequence not in terminal.raw
        assert "An␛[2J answer\\x9b31m.\nEnd\n" in terminal.text


@pytest.mark.parametrize(
    ("extra", "escapes"),
    [({"TERM": "dumb"}, False), ({"NO_COLOR": "1"}, False), ({}, True)],
    ids=["dumb", "no-color", "colours"],
)
def test_colours_are_for_terminals_whose_owner_wants_them(home, extra, escapes):
    arguments = ["--tool", "world.py", "--model", "world.py:weather", "?"]
    with Terminal(home, "ask", *arguments, extra=extra) as terminal:
        assert terminal.end() == 0
        assert ("\x1b[36m" in terminal.raw) is escapes
        assert ("call: get_weather" in terminal.text) is (extra.get("TERM") == "dumb")


def test_a_terminal_of_few_characters_is_drawn_on_with_them(home):
    extra = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    arguments = ["--tool", "world.py", "--model", "world.py:weather", "?"]
    with Terminal(home, "ask", *arguments, extra=extra) as terminal:
        assert terminal.end() == 0
        assert terminal.text.splitlines()[2:4] == [
            '-> get_weather {"city":"Paris"}',
            "<- get_weather 0.0 s Sunny in Paris.",
        ]


def test_a_model_that_is_slow_to_begin_is_waited_for_visibly(home):
    with Terminal(home, "ask", "--model", "world.py:slow", "?") as terminal:
        terminal.wait_for("waiting for world.py:slow …")
        assert terminal.end() == 0
        assert terminal.text.splitlines()[-2].endswith("There.")


@pytest.mark.parametrize(
    ("typed", "result"),
    [
        ("y\n", "← send_mail 0.0 s sent to bob"),
        ("\n", "x send_mail denied 0.0 s send_mail was not run; permission was denied."),
        ("not today\n", "send_mail was not run; permission was denied: not today"),
    ],
    ids=["yes", "nothing", "words"],
)
def test_on_a_terminal_the_person_is_asked(home, typed, result):
    with Terminal(home, "ask", "--tool", "world.py", "--model", "world.py:mail", "Mail!") as terminal:
        asked = terminal.wait_for("Run it? [y/N/why not] ")
        assert terminal.is_silent(2 * PATIENCE)
        assert asked == (
            '→ send_mail {"to":"bob","body":"Hi"}\nThe model wants to run send_mail with\n'
            '  | to: "bob"\n  | body: "Hi"\n'
            "(y: this call; r: every one in this run; t: every one with these targets)\n"
            "Run it? [y/N/why not] "
        )
        terminal.send(typed)
        assert terminal.end() == 0
        assert result in terminal.text.replace("\n", "")


def test_an_interrupt_while_the_person_is_asked_ends_the_run(home):
    with Terminal(home, "ask", "--tool", "world.py", "--model", "world.py:mail", "Mail!") as terminal:
        terminal.wait_for("Run it? [y/N/why not] ")
        terminal.interrupt()
        assert terminal.end() == 130
        assert "interrupted; no call had finished" in terminal.text


def test_without_a_question_on_a_terminal_it_says_how_to_ask(home):
    with Terminal(home, "ask") as terminal:
        assert terminal.end() == 2
        assert "what is the question?" in terminal.text


def test_a_dry_run_changes_nothing_and_asks_nobody(home, capsys):
    assert ask("--dry-run", "--model", "world.py:mail", "Write.") == 0
    said, told = capsys.readouterr()
    assert (said, "dry_run: send_mail" in told, "sent to" in told) == ("Done.\n", True, False)
    assert main(["call", "--dry-run", "world.py", "send_mail", '{"to":"bob","body":"Hi"}']) == 0
    assert capsys.readouterr().out.startswith("send_mail was not run: this is a dry run")


def test_an_answer_without_its_form_is_not_on_stdout(home, capsys):
    assert ask("--schema", "age int", "--model", "world.py:echo", "How old?") == 1
    said, told = capsys.readouterr()
    assert said == ""
    assert "no_output" in told
    assert "How old?" in told


def test_what_the_model_makes_is_saved_over_nothing_that_is_there(home, capsys):
    (home / "draws.py").write_text(
        "import rightcall as rc\n"
        "from rightcall.testing import ScriptedModel\n"
        "made = (rc.models.Media(b'PNG', 'image/png'), rc.models.Media(id='file_1'), "
        "rc.models.Text('A cat.'))\n"
        "model = ScriptedModel(lambda request: rc.Reply(made))\n"
    )
    draw = ["ask", "-n", "--model", "draws.py:model", "Draw a cat."]
    assert main(draw) == 0
    assert "rightcall: made [image/png, 3 bytes]; --save FOLDER keeps it" in capsys.readouterr().err
    for number in (1, 2):
        assert main([*draw, "--save", "out"]) == 0
        told = capsys.readouterr().err
        assert f"rightcall: saved out/image-{number}.png\n" in told
        assert "not saved, as it is with the vendor: application/octet-stream, file file_1" in told
        assert (home / f"out/image-{number}.png").read_bytes() == b"PNG"
    assert main([*draw, "--save", "draws.py"]) == 2
    assert "--save draws.py: File exists" in capsys.readouterr().err


def test_tools_can_be_found_in_place_of_being_sent(home, capsys):
    (home / "finds.py").write_text(
        "from rightcall.testing import ScriptedModel, call, reply\n"
        "model = ScriptedModel([reply(call('search_tools', queries=['weather'])), "
        "reply(call('get_weather', city='Rome')), 'Sunny.'])\n"
    )
    assert ask("--defer", "--descriptions", "short", "--model", "finds.py:model", "Weather?") == 0
    said, told = capsys.readouterr()
    assert said == "Sunny.\n"
    assert "returned: get_weather" in told
