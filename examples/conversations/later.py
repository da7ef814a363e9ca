"""A tool that answers later: the run waits, as JSON if need be, until somebody says what came."""

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply


@rc.tool
def order(what: str) -> rc.Later:
    """Order something; the shop confirms it by a webhook, days later."""
    return rc.Later(f"order of {what}")


agent = rc.Agent(ScriptedModel([reply(call("order", what="tea")), "It is here."]), tools=[order])
waiting = agent.run_sync("Order tea.").to_json()  # keep it, and let the process end
paused = rc.RunResult.from_json(waiting)
answers = {each.call_id: rc.Answer("It arrived on Tuesday.") for each in paused.pending}
print(agent.resume_sync(paused, answers).text, [each.later for each in paused.pending])
