"""What a tool raised: who sees it, in how many words, and without which."""

import logging
from functools import partial

import pytest

import rightcall as rc
from rightcall.errors import DeclarationError, ToolFailure, UsageError
from rightcall.gate.render import MOST_WORDS, cause_of, words_of
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, raise_tool_errors, reply

NEUTRAL = "look failed for a reason it did not give."
KEY = "sk-ant-api03-" + "a1" * 20


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


WORDS = {
    "a message": (ValueError("no account 7"), "no account 7", "ValueError: no account 7"),
    "more than a line": (ValueError("no account 7\nDETAIL: x"), "no account 7", None),
    "blank lines first": (ValueError("\n\n  no account 7"), "no account 7", None),
    "a key": (KeyError("Paris"), "KeyError: 'Paris'", "KeyError: 'Paris'"),
    "nothing": (TimeoutError(), "TimeoutError", "TimeoutError"),
    "a group of one": (ExceptionGroup("group", [ValueError("inner")]), "inner", "ValueError: inner"),
    "a group": (
        ExceptionGroup("both", [ValueError("a"), ValueError("b")]),
        "both (2 sub-exceptions)",
        None,
    ),
    "a secret": (ValueError(f"refused {KEY}"), "refused [redacted]", "ValueError: refused [redacted]"),
    "no words at all": (Wordless(), "its message cannot be read", None),
}


@pytest.mark.parametrize(("error", "words", "cause"), WORDS.values(), ids=WORDS)
def test_an_exception_in_words(error, words, cause):
    assert words_of(error) == words
    if cause is not None:
        assert cause_of(error) == cause


def test_long_words_are_cut():
    error = ValueError("x" * 10_000_000)
    assert len(words_of(error)) == MOST_WORDS
    assert len(cause_of(error)) <= MOST_WORDS + len("ValueError: ")


def raising(error, **options):
    @rc.tool(effect="read", **options)
    async def look() -> str:
        """Look."""
        raise error

    return look


def blocking(error, **options):
    @rc.tool(effect="read", **options)
    def look() -> str:
        """Look."""
        raise error

    return look


async def told(tool):
    (done,) = await rc.run_calls([rc.Call(id="1", name="look")], [tool])
    return done


@pytest.mark.parametrize("make", [raising, blocking])
async def test_the_model_reads_the_words_only_where_the_tool_says_so(make):
    error = ValueError(f"no account 7, {KEY}\nat line 3")
    assert (await told(make(error))).result.text == "ValueError: no account 7, [redacted]"
    assert (await told(make(error, facts=rc.Facts(untrusted=True)))).result.text == NEUTRAL
    assert (await told(make(error, errors="neutral"))).result.text == NEUTRAL
    done = await told(make(error, errors="words"))
    assert (done.result.text, done.result.is_error) == ("no account 7, [redacted]", True)
    assert done.outcome.cause == "ValueError: no account 7, [redacted]\nat line 3"
    assert "Traceback" in done.outcome.error


@pytest.mark.parametrize("make", [raising, blocking])
async def test_what_is_no_exception_is_told_by_its_own_name(make, caplog):
    done = await told(make(SystemExit("bad flag"), errors="words"))
    assert (done.result.text, done.outcome.cause) == ("bad flag", "SystemExit: bad flag")
    assert "look raised SystemExit: bad flag" in caplog.text


@pytest.mark.parametrize("make", [raising, blocking])
async def test_a_traceback_begins_in_the_tools_own_code(make, caplog):
    done = await told(make(ValueError("no account 7")))
    lines = done.outcome.error.splitlines()
    assert (lines[0], len(lines)) == ("Traceback (most recent call last):", 4)
    assert f'File "{__file__}"' in lines[1]
    assert done.outcome.error in f"{caplog.text}\n"


async def test_a_traceback_without_the_tools_code_is_left_whole():
    done = await told(rc.Tool("look", "Look.", {"type": "object"}, partial(float, "no number")))
    assert "rightcall" in done.outcome.error


@pytest.mark.parametrize("make", [raising, blocking])
async def test_a_tool_may_end_its_run_with_what_it_raises(make):
    error = ValueError("no account 7")
    for ours, theirs in (("raise", None), (None, "raise")):
        model = ScriptedModel([reply(call("look")), "Done."])
        with pytest.raises(ValueError, match="no account 7") as caught:
            await rc.Agent(model, [make(error, errors=ours)], errors=theirs).run("Look.")
        assert caught.value is error
    several = [rc.Call(id="1", name="look"), rc.Call(id="2", name="look")]
    with pytest.raises(ValueError, match="no account 7"):
        await rc.run_calls(several, [make(error, errors="raise")])


async def test_what_a_tool_expects_is_a_result_though_its_exceptions_are_raised():
    done = await told(raising(ToolFailure("closed"), errors="raise"))
    assert (done.result.text, done.outcome.kind) == ("closed", "failed")


async def test_a_tool_that_is_tried_again_raises_what_it_raises_last():
    tries = []

    @rc.tool(errors="raise", retries=2, retry_on=(ConnectionError,), backoff=0)
    def look() -> str:
        """Look."""
        tries.append(1)
        raise ConnectionError(f"lost {len(tries)}")

    with pytest.raises(ConnectionError, match="lost 3"):
        await told(look)


async def test_a_test_may_have_every_exception_raised():
    model = ScriptedModel([reply(call("helper", task="x")), "Done."])
    inner = rc.Agent(ScriptedModel([reply(call("look")), "Done."]), [raising(ValueError("deep"))])
    outer = rc.Agent(model, [inner.as_tool(name="helper")])
    with raise_tool_errors(), pytest.raises(ValueError, match="deep"):
        outer.run_sync("Look.")
    assert (await told(raising(ValueError("no account 7")))).outcome.kind == "failed"


async def test_an_agent_with_trust_rules_keeps_to_the_neutral_words():
    model = ScriptedModel([reply(call("look")), "Done."])
    result = await rc.Agent(model, [raising(ValueError("x"))], trust=rc.trust.Rules()).run("Look.")
    assert result.calls[0].result.text == NEUTRAL


async def test_words_of_an_outsider_are_enveloped_as_the_tools_results_are():
    outside = raising(ValueError("obey </x>"), errors="words", facts=rc.Facts(untrusted=True))
    done = await told(outside)
    assert done.result.source == "look"
    assert done.result.text == '{"untrusted_source":"look","content":"obey \\u003c/x\\u003e"}'


def test_a_word_that_is_none_is_refused():
    with pytest.raises(DeclarationError, match="'loud' is not one of words, neutral, raise"):
        raising(ValueError(), errors="loud")
    with pytest.raises(
        UsageError, match="errors must be 'words' or 'neutral' or 'raise' or None, not 'loud'"
    ):
        rc.Agent(ScriptedModel([]), errors="loud")  # type: ignore[arg-type]


def test_a_tool_with_some_parameters_filled_in_keeps_the_word():
    from functools import partial  # noqa: PLC0415

    @rc.tool(errors="words")
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert rc.tool(partial(add, 1)).errors == "words"


async def asked(tools, **options):
    model = ScriptedModel([reply(call("look")), "Done."])
    return await rc.Agent(model, tools, **options).run("Go.", run="r")


async def test_an_agents_word_counts_for_tools_that_do_not_say():
    error = ValueError("no account 7")
    result = await asked([raising(error)], errors="words")
    assert result.calls[0].result.text == "no account 7"
    result = await asked([raising(error, errors="neutral")], errors="words")
    assert result.calls[0].result.text == NEUTRAL
    result = await asked([raising(error, errors="words")])
    assert result.calls[0].result.text == "no account 7"


@pytest.mark.parametrize("streamed", [True, False])
async def test_the_record_of_a_call_says_what_was_raised_and_survives(streamed, tmp_path):
    journal = rc.record.JsonLinesJournal(tmp_path / "runs.jsonl")
    model = ScriptedModel([reply(call("look")), "Done."])
    agent = rc.Agent(model, [raising(ValueError(f"no account 7 {KEY}"))], journal=journal)
    if streamed:
        result = [event async for event in agent.stream("Go.", run="r")][-1].result
    else:
        result = await agent.run("Go.", run="r")
    expected = "ValueError: no account 7 [redacted]"
    assert [each.error for each in result.calls] == [expected]
    assert rc.RunResult.from_json(result.to_json()).calls == result.calls
    assert [each.error for each in (await rc.replay(journal, "r")).calls] == [expected]
    assert [each.error for each in (await agent.recover("r")).calls] == [expected]
    live = await rc.replay(journal, "r", model=ScriptedModel([reply(call("look")), "Done."]))
    assert [(each.error, each.outcome) for each in live.calls] == [(expected, "failed")]
    journal.close()


async def test_a_journal_of_before_gives_the_last_line_of_its_traceback():
    journal = MemoryJournal()
    await asked([raising(ValueError("no account 7"))], journal=journal)
    old = MemoryJournal()
    for entry in journal.entries("r"):
        if isinstance(entry, rc.record.entry.CallFinished):
            entry = rc.record.entry.CallFinished(  # noqa: PLW2901
                key=entry.key, result=entry.result, attempts=1, error=entry.error
            )
        old.append("r", entry)
    result = await rc.replay(old, "r")
    assert result.calls[0].error == "ValueError: no account 7"


async def test_a_failure_that_was_meant_for_the_model_is_no_error_of_the_record(caplog):
    result = await asked([raising(ToolFailure("Closed on Sundays."))])
    assert (result.calls[0].error, result.calls[0].result.text) == ("", "Closed on Sundays.")
    assert caplog.records == []


@pytest.mark.parametrize("make", [raising, blocking])
async def test_it_is_logged_once_with_its_traceback_and_without_secrets(make, caplog):
    await asked([make(ValueError(f"no account 7 {KEY}"))])
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("rightcall.gate", "WARNING")
    assert record.getMessage() == "look raised ValueError: no account 7 [redacted]"
    assert "raise error" in caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    "said",
    [
        '{"client_secret": "hush-hush"}',
        '400: {"error": "x", "client_secret" : "hush-hush", "n": 1} at line 3',
        r'body: "{\"client_secret\": \"hush-hush\"}"',
        "{'client_secret': 'hush-hush'}",
        '{"headers": {"Authorization": "hush-hush"}}',
    ],
)
async def test_a_member_of_json_with_a_telling_name_is_in_no_log(said, caplog):
    result = await asked([raising(ValueError(said))])
    assert "client_secret" in caplog.text or "Authorization" in caplog.text
    assert "hush" not in caplog.text + result.calls[0].error


async def test_what_a_terminal_would_obey_is_shown_in_the_log(caplog):
    await asked([raising(ValueError("no \x1b[2J\x1b]0;mine\x07 account"))])
    assert "look raised ValueError: no ␛[2J␛]0;mine␇ account" in caplog.text
    assert "\x1b" not in caplog.text


async def test_turns_and_calls_are_logged_without_arguments(caplog):
    caplog.set_level(logging.INFO, "rightcall")

    @rc.tool(effect="read")
    def find(what: str) -> str:
        """Find."""
        return f"{what}!"

    calls = reply("Let me see.", call("find", what="hidden words"), call("nosuch", what="hidden words"))
    await rc.Agent(ScriptedModel([calls, "Done."]), [find]).run("hidden words", run="r")
    lines = [record.getMessage() for record in caplog.records]
    assert [line.partition(" after")[0].partition(" in ")[0] for line in lines] == [
        "run r, t1.model: calls",
        '"nosuch": unknown',
        "find: returned",
        "run r, t2.model: end",
        "run r: ended with end",
    ]
    assert "hidden" not in caplog.text


async def test_nothing_is_logged_where_nobody_listens_and_no_handler_is_installed(caplog):
    for name in ("rightcall", "rightcall.gate", "rightcall.loop", "rightcall.request"):
        assert logging.getLogger(name).handlers == []
    await asked([raising(ToolFailure("no"))])
    assert caplog.records == []


async def test_a_validator_that_breaks_is_logged_once(caplog):
    class Broken:
        def validate(self, _text, _value):
            raise ValueError("no schema")

    tool = rc.Tool("look", "Look.", handler=lambda: "", validator=Broken())
    result = await asked([tool], errors="words")
    assert (result.calls[0].error, result.calls[0].result.text) == ("ValueError: no schema", "no schema")
    (record,) = caplog.records
    assert record.getMessage().startswith("the arguments of look could not be checked:\nTraceback")


async def test_a_value_that_cannot_be_shown_is_logged_and_recorded(caplog):
    @rc.tool
    def look() -> object:
        """Look."""
        return (each for each in "ab")

    result = await asked([look])
    assert result.calls[0].error.startswith("Unshowable: generator holds no value")
    assert [record.getMessage() for record in caplog.records] == [
        "look ran, but what it returned cannot be shown."
    ]


@pytest.mark.parametrize("size", [2048, 300])
async def test_a_failures_words_are_short(size):
    limits = rc.Limits() if size == 2048 else rc.Limits(max_failure_bytes=size)
    done = await told(raising(ToolFailure("x" * 10_000), limits=limits))
    assert len(done.result.text.encode()) <= size
    assert "bytes left out here" in done.result.text
    outside = raising(ToolFailure("<" * 10_000), limits=limits, facts=rc.Facts(untrusted=True))
    assert len((await told(outside)).result.text.encode()) <= size


async def test_what_was_wrong_with_a_call_is_short_too():
    names = [
        rc.Tool(f"{letter}{'x' * 62}", "A tool.") for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGH"
    ]
    (done,) = await rc.run_calls([rc.Call(id="1", name="nosuch")], names)
    assert len(done.result.text.encode()) <= 2048

    def look(**arguments: int) -> str:
        """Look."""
        return ""

    wrong = "{" + ",".join(f'"{each:0150}": "x"' for each in range(200)) + "}"
    (done,) = await rc.run_calls([rc.Call(id="1", name="look", arguments=wrong)], [rc.tool(look)])
    assert done.outcome.kind == "invalid"
    assert len(done.result.text.encode()) <= 2048


def test_strangers_tools_never_give_an_exceptions_words(tmp_path):
    tools = [
        *rc.builtin.default_tools(),
        rc.builtin.shell(),
        rc.builtin.fs(tmp_path),
        rc.builtin.web(),
        rc.Agent(ScriptedModel([])).as_tool(),
    ]
    assert {each.errors for each in tools} == {"neutral"}
    offered = rc.Agent(ScriptedModel([]), tools, errors="words").tools
    assert {each.errors for each in offered} == {"neutral"}


async def test_a_retried_tool_tells_its_traceback_once(caplog):
    @rc.tool(retries=2, retry_on=(ConnectionError,), backoff=0)
    def flaky() -> str:
        """Fail."""
        raise ConnectionError("gone\nrightcall.gate: a forged line")

    with caplog.at_level("INFO", logger="rightcall.gate"):
        await rc.run_calls([rc.Call(id="1", name="flaky", arguments="{}")], [flaky])
    raised = [record for record in caplog.records if "raised" in record.getMessage()]
    assert [(record.levelname, bool(record.exc_info)) for record in raised] == [
        ("INFO", False),
        ("INFO", False),
        ("WARNING", True),
    ]
    assert raised[0].getMessage() == (
        "flaky raised ConnectionError: gone\\nrightcall.gate: a forged line (attempt 1 of 3)"
    )
