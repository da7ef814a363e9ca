// A conversation with an agent: each message is a run of its own that goes on from the one before.

import { at, get, post } from "../api.js";
import { fill, h } from "../dom.js";
import { watch } from "../live.js";
import { address } from "../router.js";
import { inline } from "../stored.js";
import { Conversation, WINDOW } from "./conversation.js";

const OVER = new Set(["ended", "paused", "failed", "cut_off"]);

/** The conversation so far, and the field for what comes next. */
export function chatPanel(agent, session, signal) {
  const said = h("div.chat-said");
  const note = h("div", { role: "status" });
  const text = h("textarea", {
    id: "chat-text",
    rows: 3,
    placeholder: "Enter sends, Shift and Enter begins a line; while it works, Control and Enter interrupts",
  });
  const dry = h("input", { type: "checkbox" });
  const button = h("button.main", { type: "submit", disabled: !session.can_write }, "Send");
  let after = null;
  let going = null;
  let late = "";
  /** Add to the run that goes on; its agent reads it at its next turn, or at once. What comes too late is
   * the next run's. */
  const add = async (prompt, now) => {
    try {
      await post("/api/run/say", { run: going, text: prompt, now });
      text.value = "";
      fill(note, h("p.small.soft", now ? "It is read at once." : "It is read at the next turn."));
    } catch (error) {
      const isOver = ["run_over", "run_held"].includes(error.code);
      if (isOver && going) late = prompt;
      else if (isOver) send();
      else if (!signal.aborted) fill(note, h("p.fault", inline(error.message, 1000)));
    }
  };
  const send = async (now = false) => {
    const prompt = text.value.trim();
    if (!prompt || button.disabled) return;
    if (going) return add(prompt, now);
    button.disabled = true;
    fill(note);
    try {
      const { run } = await post("/api/chat", {
        agent: agent.name,
        prompt,
        after,
        model: null,
        dry_run: dry.checked,
      });
      text.value = "";
      after = going = run;
      button.disabled = false;
      button.textContent = "Add to it";
      await followed(run, said, signal);
    } catch (error) {
      if (!signal.aborted) fill(note, h("p.fault", inline(error.message, 1000)));
    } finally {
      going = null;
      button.disabled = false;
      button.textContent = "Send";
      text.focus();
    }
    if (!late || signal.aborted) return;
    text.value = late;
    late = "";
    send();
  };
  const form = h(
    "form.chat-form.stack",
    h("div.field", h("label", { for: "chat-text" }, "Your message to ", inline(agent.name, 60)), text),
    h(
      "div.line",
      button,
      h("label.line", dry, "dry run: change nothing"),
      !session.can_write &&
        h("span.caution", "The studio was started without --write, so it runs nothing."),
    ),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send(event.ctrlKey);
  });
  return h("div.chat", said, note, form);
}

/** Draw a run as it goes, until it is over or waits for somebody. What was said before is on the page already. */
async function followed(run, place, signal) {
  const load = (from, count) => get("/api/run", { run, from, count }, signal);
  const conversation = new Conversation(
    async (from, count) => (await load(from, count)).items,
    { isHidden: (item) => item.history },
    signal,
  );
  const state = h("p.small.soft", h("a", { href: address("run", { run }) }, "All about this run"));
  place.append(conversation.node, state);
  const found = await load(0, WINDOW);
  conversation.grow(found.items_total);
  conversation.seed(0, found.items);
  if (!OVER.has(found.row.state)) await changes(run, found.version, conversation, state, signal);
}

function changes(run, version, conversation, state, signal) {
  const done = new AbortController();
  signal.addEventListener("abort", () => done.abort());
  let seen = version;
  const items = async (change) => {
    seen = change.version;
    await conversation.update(change.items, change.items_total);
    state.scrollIntoView({ block: "nearest" });
    if (change.row.state === "paused")
      fill(state, h("a.button", { href: address("approve", { run }) }, "It waits for your decision"));
    if (OVER.has(change.row.state)) done.abort();
  };
  // A run that was stopped has no last item that says so.
  const ended = ({ state: stands }) => OVER.has(stands) && done.abort();
  watch(
    () => at("/api/run/events", { run, version: seen }),
    { items, ended, delta: (delta) => conversation.writing.take(delta) },
    done.signal,
  );
  return new Promise((resolve) => done.signal.addEventListener("abort", resolve));
}
