"""A chat in a small window: what no longer fits is summarised once, and the summary stays in it."""

import rightcall as rc
from rightcall.testing import ScriptedModel

model = ScriptedModel(["Noted."] * 40)  # in its place: "anthropic:claude-opus-4-8"
cheap = ScriptedModel(["The user is called Ada, and counts."] * 9)  # "anthropic:claude-haiku-4-5"
agent = rc.Agent(model, window=rc.conversation.Window(tokens=600), compact=rc.Compaction(by=cheap))
result = agent.run_sync("Remark 0: my name is Ada.")
for turn in range(1, 40):
    result = agent.run_sync(f"Remark {turn}: {turn} is a number.", history=result.transcript)
sent = model.requests[-1].messages
print(f"{len(sent)} of {len(result.transcript)} messages are sent; in place of the rest:")
print(next(each.text for each in sent if isinstance(each, rc.User) and each.compaction))
