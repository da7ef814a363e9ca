"""A call that was refused leaves nothing behind: what it named can be looked up, and then is known."""

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply

BOB = "bob@firm.example"


@rc.tool(effect="read", facts=rc.Facts(untrusted=("body",), private=True, reach="user", targets=()))
def inbox() -> list[dict[str, str]]:
    """The newest mail."""
    return [{"body": "Hello"}]


@rc.tool(
    effect="read",
    facts=rc.Facts(untrusted=False, private=True, reach="user", targets=(), identity=()),
)
def contacts(name: str) -> list[dict[str, str]]:
    """Find people in the address book."""
    return [{"id": "p-7", "name": name, "email": BOB}]


@rc.tool(facts=rc.Facts(untrusted=False, private=False, reach="outside", dangers=(), targets=("to",)))
def send(to: str, body: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


def run(**options) -> rc.RunResult:
    guess, looked = call("send", to=BOB, body="Hi"), call("contacts", name="Bob Ray")
    script = [reply(call("inbox")), reply(guess), reply(looked), reply(guess), "Done."]
    rules = rc.trust.Rules(otherwise="deny")
    agent = rc.Agent(ScriptedModel(script), [inbox, contacts, send], trust=rules, **options)
    return agent.run_sync("Read my mail and say hi to Bob Ray.")


def test_a_guess_that_was_refused_does_not_spoil_what_is_looked_up():
    outcomes = [each.result.outcome for each in run().calls]
    assert outcomes == ["returned", "denied", "returned", "returned"]


def test_a_result_that_was_withheld_says_that_the_tool_has_run():
    def withhold(execution):
        return rc.gate.Veto("not for you") if execution.call.name == "contacts" else None

    results = {each.call.name: each.result for each in run(hooks=rc.Hooks(after_tool=withhold)).calls}
    assert (results["contacts"].outcome, results["contacts"].withheld) == ("denied", True)
    assert (results["send"].outcome, results["send"].withheld) == ("denied", False)
