"""``rightcall chat``: a conversation, from a pipe and on a terminal."""

import json
import shlex
import stat
from pathlib import Path

import pytest

import warm
from cli.kit import Terminal, run
from rightcall.cli.load import load_transcript
from rightcall.core.message import Reply, User

MODEL = ["--quiet", "--model", "world.py:echo"]


def answers(out: str) -> list[str]:
    """What was echoed of the conversation, turn by turn."""
    return [line.partition(";")[0] for line in out.splitlines()]


def test_each_line_of_a_pipe_is_a_turn_that_knows_the_ones_before(home):
    ran = run(home, "chat", *MODEL, stdin=b"first\n\n  second \nthird")
    assert (ran.code, ran.err) == (0, "")
    assert answers(ran.out) == ["1: first", "3: first | second", "5: first | second | third"]


def test_quit_ends_it_and_reset_forgets(home):
    ran = run(home, "chat", *MODEL, stdin=b"first\n/reset\nsecond\n/quit\nthird\n")
    assert (ran.code, ran.err) == (0, "forgotten\n")
    assert answers(ran.out) == ["1: first", "1: second"]


def test_a_conversation_is_saved_and_loaded(home):
    ran = run(home, "chat", *MODEL, stdin=b"first\n/save talk.json\n/reset\n/load talk.json\nsecond\n")
    assert answers(ran.out) == ["1: first", "3: first | second"]
    assert ran.err == "saved 2 messages in talk.json\nforgotten\nloaded 2 messages from talk.json\n"
    assert [type(message) for message in load_transcript(home / "talk.json")] == [User, Reply]
    assert json.loads((home / "talk.json").read_text())[0]["content"][0]["text"] == "first"


def test_commands_tell_about_tools_model_and_usage(home):
    (home / "other.py").write_text(
        "from rightcall.testing import ScriptedModel\nmodel = ScriptedModel(lambda _: 'other')\n"
    )
    said = b"hi\n/tools\n/usage\n/model\n/model other.py:model\nhi\n/help\n"
    tools = ["--tool", "world.py:get_weather", "--no-default-tools"]
    ran = run(home, "chat", *MODEL, *tools, stdin=said)
    assert ran.code == 0
    assert ran.err.splitlines()[:4] == [
        "get_weather: Current weather for a city.",
        "10 tokens in, 5 out",
        "model: world.py:echo",
        "model: other.py:model",
    ]
    assert answers(ran.out) == ["1: hi", "other"]
    helped = [line.split()[0] for line in ran.err.splitlines()[4:]]
    assert helped == [
        "/help",
        "/tools",
        "/prompts",
        "/model",
        "/reset",
        "/save",
        "/load",
        "/reasoning",
        "/usage",
        "/quit",
    ]


def test_the_prompts_of_servers_are_commands(home):
    library = Path(__file__).parents[1] / "mcp/client/library.py"
    server = shlex.join([*warm.python(*warm.MCP), str(library)])
    lines = ["/prompts", "/python_review", "/python_review text='So what' tone=harsh", "/python_nothing"]
    ran = run(home, "chat", *MODEL, "--mcp", server, stdin="\n".join(lines).encode())
    assert ran.err.splitlines() == [
        "/python_review text=… tone=…: Review a text.",
        "rightcall: /python_review takes text=… tone=…",
        "rightcall: no command /python_nothing; /help lists them",
    ]
    assert answers(ran.out) == ["1: Follow the prompt review of the server python, which is attached."]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/rest", "no command /rest; did you mean /reset?"),
        ("/xyzzy", "no command /xyzzy; /help lists them"),
        ("/save", "which file?"),
        ("/save no/such/talk.json", "no/such/talk.json cannot be written: No such file or directory"),
        ("/load absent.json", "absent.json cannot be read: No such file or directory"),
        ("/load world.py", "world.py does not hold a conversation: JSON is malformed"),
        ("/model world.py:nosuch", "world.py has no 'nosuch'"),
    ],
)
def test_a_command_that_cannot_be_carried_out_says_why_and_the_talk_goes_on(home, line, words):
    ran = run(home, "chat", *MODEL, stdin=f"first\n{line}\nsecond\n".encode())
    assert ran.code == 1
    assert ran.err.startswith(f"rightcall: {words}")
    assert answers(ran.out) == ["1: first", "3: first | second"]


def test_a_turn_without_an_answer_is_told_by_the_exit_code_and_forgotten(home):
    ran = run(home, "chat", "--quiet", "--model", "world.py:broken", stdin=b"hello\n")
    assert (ran.code, ran.out, ran.err) == (1, "", "rightcall: HTTP 529: overloaded ␛[31m\n")


def test_a_question_that_nothing_came_of_is_not_part_of_the_history(home):
    said = b"first\nplease fail\nsecond\n"
    ran = run(home, "chat", "--quiet", "--model", "world.py:failing", stdin=said)
    assert (ran.code, ran.err) == (1, "rightcall: overloaded\n")
    assert answers(ran.out) == ["1: first", "3: first | second"]


def test_calls_and_results_become_part_of_the_history(home):
    arguments = ["--quiet", "--tool", "world.py", "--model", "world.py:weather"]
    ran = run(home, "chat", *arguments, stdin=b"Weather?\n/save talk.json\n")
    assert (ran.code, ran.out) == (0, "It is sunny.\n")
    kinds = [type(message).__name__ for message in load_transcript(home / "talk.json")]
    assert kinds == ["User", "Reply", "Results", "Reply"]


def test_on_a_terminal_it_prompts_answers_and_leaves_at_the_end_of_input(home):
    with Terminal(home, "chat", *MODEL) as terminal:
        terminal.wait_for("> ")
        terminal.send("hello\n")
        terminal.wait_for("1: hello; ")
        terminal.wait_for("> ")
        terminal.send("\x04")
        assert terminal.end() == 0


def test_typed_lines_are_remembered_for_the_next_time(home):
    with Terminal(home, "chat", *MODEL) as terminal:
        terminal.wait_for("> ")
        terminal.send("remember me\n")
        terminal.wait_for("1: remember me; ")
        terminal.wait_for("> ")
        terminal.send("/quit\n")
        assert terminal.end() == 0
    history = home / ".local" / "state" / "rightcall" / "history"
    assert "remember me\n/quit\n" in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    with Terminal(home, "chat", *MODEL) as terminal:
        terminal.wait_for("> ")
        terminal.send("\x1b[A\x1b[A\n")
        terminal.wait_for("1: remember me; ")


def test_an_interrupt_stops_the_reply_and_keeps_what_was_said(home):
    with Terminal(home, "chat", "--model", "world.py:pausing") as terminal:
        terminal.wait_for("> ")
        terminal.send("please wait\n")
        terminal.wait_for("Begu")
        terminal.interrupt()
        terminal.wait_for("interrupted; no call had finished")
        terminal.wait_for("> ")
        terminal.send("/save talk.json\n")
        terminal.wait_for("saved 2 messages")
        terminal.wait_for("> ")
        terminal.send("and now?\n")
        terminal.wait_for("3: please wait | and now?; ")
        terminal.wait_for("> ")
        terminal.send("\x04")
        assert terminal.end() == 0
    user, reply = load_transcript(home / "talk.json")
    assert isinstance(user, User)
    assert isinstance(reply, Reply)
    assert (user.text, reply.stop) == ("please wait", "error")
    assert "Begun and never ended".startswith(reply.text)
    assert reply.text


def test_an_interrupt_while_a_tool_runs_leaves_a_transcript_that_holds(home):
    with Terminal(home, "chat", "--tool", "world.py", "--model", "world.py:busy") as terminal:
        terminal.wait_for("> ")
        terminal.send("go\n")
        terminal.wait_for("→ forever")
        terminal.wait_for("running forever")
        terminal.interrupt()
        terminal.wait_for("> ")
        terminal.send("/save talk.json\n")
        terminal.wait_for("saved 3 messages")
    results = load_transcript(home / "talk.json")[2].results
    assert [(result.name, result.outcome) for result in results] == [("forever", "interrupted")]


def test_two_interrupts_in_a_row_leave(home):
    with Terminal(home, "chat", *MODEL) as terminal:
        terminal.wait_for("> ")
        terminal.interrupt()
        terminal.wait_for("(Ctrl-C once more, or Ctrl-D, to leave)")
        terminal.wait_for("> ")
        terminal.send("hello\n")
        terminal.wait_for("1: hello")
        terminal.wait_for("> ")
        terminal.interrupt()
        terminal.wait_for("to leave)")
        terminal.wait_for("> ")
        terminal.interrupt()
        assert terminal.end() == 130


def test_an_interrupt_after_one_that_stopped_a_reply_leaves(home):
    with Terminal(home, "chat", "--model", "world.py:pausing") as terminal:
        terminal.wait_for("> ")
        terminal.send("please wait\n")
        terminal.wait_for("Begu")
        terminal.interrupt()
        terminal.wait_for("to leave)")
        terminal.wait_for("> ")
        terminal.interrupt()
        assert terminal.end() == 130


def test_the_person_is_asked_in_the_middle_of_a_conversation(home):
    with Terminal(home, "chat", "--tool", "world.py", "--model", "world.py:mail") as terminal:
        terminal.wait_for("> ")
        terminal.send("Say hi to Bob.\n")
        terminal.wait_for("Run it? [y/N/why not] ")
        terminal.send("y\n")
        terminal.wait_for("← send_mail 0.0 s sent to bob")
        terminal.wait_for("Done.")
        terminal.wait_for("> ")
        terminal.send("\x04")
        assert terminal.end() == 0


def paste(*lines: str) -> str:
    """Lines as a terminal sends what is pasted."""
    text = "\r".join(lines)
    return f"\x1b[200~{text}\x1b[201~"


def test_several_lines_that_are_pasted_are_one_message(home):
    with Terminal(home, "chat", *MODEL) as terminal:
        terminal.wait_for("> ")
        assert "\x1b[?2004h" in terminal.raw
        terminal.send(paste("/first", "second", "", "third"))
        assert "1:" not in terminal.wait_for("third")
        terminal.send("\r")
        terminal.wait_for("1: /first\nsecond\n\nthird; ")
        terminal.wait_for("> ")
        terminal.send("and more\r")
        terminal.wait_for("3: /first\nsecond\n\nthird | and more; ")


def test_three_quotes_hold_several_lines_together_where_nothing_can_be_pasted(home):
    said = b'"""first\n/second\n"""\n"""third"""\n"""\n'
    ran = run(home, "chat", *MODEL, stdin=said)
    assert ran.out.startswith("1: first\n/second; ")
    assert "\n3: first\n/second | third; " in ran.out
    assert ran.code == 0


THINKING = """
from rightcall.core.message import Reasoning
from rightcall.testing import ScriptedModel, reply

model = ScriptedModel(lambda request: reply(Reasoning(f"Thought {len(request.messages)}."), "Said."))
"""


@pytest.mark.parametrize("toggle", ["/reasoning\n", "\x14"], ids=["command", "ctrl-t"])
def test_thoughts_are_folded_away_and_shown_on_request(home, toggle):
    (home / "thinking.py").write_text(THINKING)
    with Terminal(home, "chat", "--model", "thinking.py:model") as terminal:
        terminal.wait_for("> ")
        terminal.send("one\n")
        assert "Thought" not in terminal.wait_for("Said.")
        terminal.wait_for("> ")
        terminal.send(toggle)
        terminal.wait_for("Thought 1.")
        terminal.wait_for("> ")
        terminal.send("two\n")
        terminal.wait_for("Thought 3.")
        terminal.wait_for("> ")
        terminal.send(toggle)
        terminal.wait_for("thoughts are folded away")
        terminal.wait_for("> ")
        terminal.send("three\n")
        terminal.wait_for("Said.")
        terminal.wait_for("> ")
        terminal.send("\x04")
        assert terminal.end() == 0
        assert "Thought 5." not in terminal.text


def test_thoughts_go_to_stderr_where_they_are_asked_for(home):
    (home / "thinking.py").write_text(THINKING)
    told = ["--model", "thinking.py:model", "--quiet"]
    ran = run(home, "ask", *told, "--reasoning", "?")
    assert (ran.code, ran.out, ran.err) == (0, "Said.\n", "thought: Thought 1.\n")
    assert run(home, "ask", *told, "?").err == ""


def test_a_chat_goes_on_with_what_was_asked_before(home):
    assert run(home, "ask", *MODEL, "--system", "Be brief.", "first").code == 0
    with Terminal(home, "chat", "-c") as terminal:
        terminal.wait_for("world.py:echo, 2 tools; going on after 2 messages; /help")
        terminal.wait_for("> ")
        terminal.send("second\n")
        terminal.wait_for("3: first | second; Be brief.; ")
        terminal.wait_for("> ")
        terminal.send("\x04")
        assert terminal.end() == 0
    assert answers(run(home, "ask", "-c", "--quiet", "third").out) == ["5: first | second | third"]


LOOKS = """
import asyncio
import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(effect="read")
async def look() -> str:
    \"\"\"Look for a long time.\"\"\"
    await asyncio.sleep(3600)
    return "seen"


def script(request):
    said = [message.text for message in request.messages if isinstance(message, rc.User)]
    if len(said) == 1:
        return reply(call("look"))
    return " | ".join(said)


model = ScriptedModel(script)
"""


@pytest.mark.parametrize("lively", [True, False])
def test_what_is_typed_while_it_works_is_added_to_the_run(home, lively):
    (home / "looks.py").write_text(LOOKS)
    extra = {} if lively else {"TERM": "dumb"}
    options = ["--tool", "looks.py", "--model", "looks.py:model"]
    with Terminal(home, "chat", *options, extra=extra) as terminal:
        terminal.wait_for("> ")
        terminal.send("go\n")
        terminal.wait_for("look")
        terminal.send("and the invoice\n")
        terminal.send("!now\n")
        terminal.wait_for("go | and the invoice | now")
        terminal.wait_for("> ")
        terminal.send("\x04")
        assert terminal.end() == 0


def test_a_turn_can_be_stopped_and_the_conversation_goes_on(home):
    (home / "looks.py").write_text(LOOKS)
    with Terminal(home, "chat", "--tool", "looks.py", "--model", "looks.py:model") as terminal:
        terminal.wait_for("> ")
        terminal.send("go\n")
        terminal.wait_for("look")
        terminal.send("/stop\n")
        terminal.wait_for("> ")
        terminal.send("again\n")
        terminal.wait_for("go | again")
        terminal.wait_for("> ")
        terminal.send("\x04")
        terminal.end()
