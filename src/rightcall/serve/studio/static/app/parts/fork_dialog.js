// A fork: the same run up to some point, and then another model, other words, or one more message.

import { post } from "../api.js";
import { h } from "../dom.js";
import { address } from "../router.js";
import { inline } from "../stored.js";
import { field, modelField, openForm } from "./ask_form.js";

const READ_ONLY = "The studio was started without --write, so it changes nothing.";

/** Open it for a turn, for a message that is to be edited, or for the end of the run. */
export function openFork(row, session, { turn = null, message = null }) {
  if (isDurable(session)) return openDurableFork(row, session, turn);
  const where = message
    ? "with this message changed"
    : turn
      ? `before turn ${turn}`
      : "after its last turn";
  const text = h("textarea", { rows: 5, value: message ? textOf(message) : "" });
  const hint = "A name such as anthropic:claude-opus-4-8; empty for the same as before.";
  const model = modelField("fork-model", session, row.model || "as before", hint);
  const agent = h(
    "select",
    h("option", { value: "" }, "None: only record it"),
    session.agents.map((name) => h("option", { value: name }, name)),
  );
  agent.value = ownAgent(row, session);
  const fields = [
    h("p.soft", "Of the run ", inline(row.prompt || row.shown, 120)),
    message
      ? field("fork-text", "The message", text)
      : field(
          "fork-text",
          "One more message from the user",
          text,
          "Leave it empty to have the model asked again as it was.",
        ),
    model.node,
    field(
      "fork-agent",
      "Agent that carries it out",
      agent,
      session.agents.length
        ? ""
        : "Start the studio with --agent module:agent to have forks carried out.",
    ),
  ];
  const send = async () => {
    const said = text.value.trim();
    const made = await post("/api/run/fork", {
      run: row.run,
      before_turn: message ? null : turn,
      message: message ? { index: message.index, text: text.value } : null,
      say: message || !said ? null : said,
      model: model.control.value.trim() || null,
      agent: agent.value || null,
      as: null,
    });
    location.hash = address("run", { run: made.run });
    return null;
  };
  openForm({
    heading: `Fork ${where}`,
    fields,
    verb: "Fork",
    send,
    blocked: session.can_write ? "" : READ_ONLY,
  });
}

/** Whether workers elsewhere carry runs out: a fork begins before a turn there, and nothing of it can be changed. */
export function isDurable(session) {
  return session.kind === "durable";
}

function openDurableFork(row, session, turn) {
  const send = async () => {
    const made = await post("/api/run/fork", { run: row.run, before_turn: turn });
    location.hash = address("run", { run: made.run });
    return null;
  };
  openForm({
    heading: `Fork before turn ${turn}`,
    fields: [
      h("p.soft", "Of the run ", inline(row.prompt || row.shown, 120)),
      h(
        "p",
        "What came before this turn is kept, and a worker of the store takes it from there. Model and messages are as they were.",
      ),
    ],
    verb: "Fork",
    send,
    blocked: session.can_write ? "" : READ_ONLY,
  });
}

/** The agent that the run was of, if it is here; else the first that is. */
export function ownAgent(row, session) {
  return session.agents.includes(row.agent) ? row.agent : (session.agents[0] ?? "");
}

function textOf(message) {
  return message.parts.map((part) => part.text ?? "").join("");
}
