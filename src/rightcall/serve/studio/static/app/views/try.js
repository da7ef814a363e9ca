// Trying an agent's tools one by one, and talking to the agent.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { chatPanel } from "../parts/chat.js";
import { toolPanel } from "../parts/tool_panel.js";
import { address, rename } from "../router.js";

export async function show(place, { query, session, signal }) {
  const { agents } = await get("/api/agents", {}, signal);
  const head = h("div.view-head", h("h1", "Try"));
  if (!agents.length)
    fill(
      place,
      head,
      h(
        "div.empty",
        h("h2", "No agent to try"),
        h(
          "p",
          "Start the studio with ",
          h("code", "--agent module:agent"),
          " to call its tools and to talk to it.",
        ),
      ),
    );
  else fill(place, head, panels(agents, query, session, signal));
  return "Try";
}

function panels(agents, query, session, signal) {
  const choice = h(
    "select",
    { id: "try-agent" },
    agents.map(({ name }) => h("option", { value: name }, name)),
  );
  choice.value = agents.some(({ name }) => name === query.get("agent"))
    ? query.get("agent")
    : agents[0].name;
  const body = h("div");
  let mode = query.get("mode") === "chat" ? "chat" : "tool";
  const modes = { tool: "Call a tool", chat: "Talk to it" };
  const tabs = Object.entries(modes).map(([key, label]) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${key}`,
        "aria-controls": "try-panel",
        dataset: { mode: key },
        onclick: () => draw(key),
      },
      label,
    ),
  );
  let shown = new AbortController();
  signal.addEventListener("abort", () => shown.abort());
  const draw = (next) => {
    mode = next;
    shown.abort();
    shown = new AbortController();
    const agent = agents.find(({ name }) => name === choice.value);
    rename(address("try", { agent: agent.name, mode, tool: query.get("tool") }));
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", tab.dataset.mode === mode);
      tab.tabIndex = tab.dataset.mode === mode ? 0 : -1;
    }
    const panel =
      mode === "chat"
        ? chatPanel(agent, session, shown.signal)
        : toolPanel(agent, session, query.get("tool"));
    fill(body, h("div", { role: "tabpanel", id: "try-panel", "aria-labelledby": `tab-${mode}` }, panel));
  };
  choice.addEventListener("change", () => draw(mode));
  const list = h("div.tabs", { role: "tablist", "aria-label": "What to try" }, tabs);
  list.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    draw(mode === "chat" ? "tool" : "chat");
    tabs.find((tab) => tab.dataset.mode === mode).focus();
  });
  draw(mode);
  return h(
    "div",
    h("div.try-head", h("div.field", h("label", { for: "try-agent" }, "Agent"), choice), list),
    body,
  );
}
