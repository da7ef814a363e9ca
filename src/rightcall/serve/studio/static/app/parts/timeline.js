// When the model, the tools and people were at work, to scale. Places are per cent, so it fits any width.

import { h, svg } from "../dom.js";
import { seconds, several, words } from "../format.js";
import { clipped } from "../stored.js";

const LANE = 18;
const GAP = 4;
const AXIS = 22;
const WIDEST = 64;
const LEAST = "4px";
const STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800,
  3600, 7200, 14400, 43200, 86400,
];
const KINDS = {
  model: "the model",
  tool: "tools",
  agent: "agents inside",
  wait: "waiting for a person",
  summary: "summaries",
  idle: "nothing",
};

/** The picture; `onPick(span)` is told which part of it was pressed, and `zoom` holds how wide it was made. */
export function timeline(found, onPick, zoom) {
  const total = Math.max(found.seconds, 0.001);
  const height = AXIS + found.lanes * (LANE + GAP);
  const room = roomFor(found.spans);
  const bars = found.spans.map((span) => bar(span, total, room.get(span)));
  const picture = svg(
    "svg.timeline",
    { width: "100%", height, role: "img", "aria-label": described(found) },
    ticks(total, height),
    bars,
  );
  picture.addEventListener("click", (event) => {
    const at = event.target.closest("[data-span]")?.dataset.span;
    if (at !== undefined) onPick(found.spans[Number(at)]);
  });
  bars.forEach((node, at) => (node.dataset.span = at));
  const wide = h("div.timeline-wide", picture);
  const view = h("div.timeline-view", { tabindex: 0, role: "group", "aria-label": "Timeline" }, wide);
  return h(
    "div.timeline-box",
    h("h2.unseen", "Timeline"),
    h("div.timeline-head", legend(found), zoomButtons(view, wide, zoom)),
    view,
    found.note && h("p.small.soft", found.note),
  );
}

/** Seconds from each span, which come in order, to the next in its lane: nothing is drawn so wide as to cover that. */
function roomFor(spans) {
  const [next, found] = [new Map(), new Map()];
  for (const span of spans.toReversed()) {
    found.set(span, (next.get(span.lane) ?? Infinity) - span.start);
    next.set(span.lane, span.start);
  }
  return found;
}

function bar(span, total, room) {
  const [from, to] = [(100 * span.start) / total, (100 * span.end) / total];
  const place = {
    x: `${from}%`,
    y: AXIS + span.lane * (LANE + GAP),
    width: `${Math.max(to - from, 0)}%`,
    height: LANE,
    rx: 2,
  };
  const classes = [
    span.kind,
    span.is_error && "error",
    span.early && "early",
    span.open && "open",
  ].filter(Boolean);
  const title = svg("title", toldOf(span));
  const rect = svg("rect", place);
  // To scale, but wide enough to be seen and pressed where there is room for that.
  const most = room === Infinity ? "" : `, ${(100 * room) / total}%`;
  rect.style.width = `max(1px, min(max(${place.width}, ${LEAST})${most}))`;
  return svg(
    `g.span.${classes.join(".")}`,
    title,
    rect,
    to - from > 8 &&
      svg(
        "text",
        { x: `${from}%`, dx: 5, y: place.y + LANE - 5 },
        clipped(span.name, Math.floor((to - from) / 1.1)),
      ),
  );
}

function toldOf(span) {
  const told = [
    `${words(span.kind)} ${clipped(span.name, 60)}`,
    span.turn && `turn ${span.turn}`,
    seconds(span.end - span.start),
    span.early && "started early",
    clipped(span.words, 120),
  ];
  return told.filter(Boolean).join(", ");
}

function ticks(total, height) {
  const step = STEPS.find((size) => total / size <= 8) ?? total / 4;
  const found = [];
  for (let at = 0; at <= total; at += step) {
    const x = `${(100 * at) / total}%`;
    const isLast = at > total * 0.96;
    found.push(
      svg("line.tick", { x1: x, x2: x, y1: AXIS - 6, y2: height }),
      svg(
        "text.tick",
        { x, dx: isLast ? -4 : 4, y: 12, "text-anchor": isLast ? "end" : "start" },
        at === 0 ? "0" : seconds(at),
      ),
    );
  }
  return svg("g", { "aria-hidden": "true" }, found);
}

/** Colours and their words, of what there is. */
function legend({ spans }) {
  const there = [...new Set(spans.map((span) => span.kind))].filter((kind) => kind in KINDS);
  const sign = (kind, word) => h("li", h(`span.swatch.${kind}`), word);
  return h(
    "ul.legend",
    there.map((kind) => sign(kind, KINDS[kind])),
    spans.some((span) => span.early) && sign("early", "started early"),
    spans.some((span) => span.is_error) && sign("error", "went wrong"),
  );
}

/** Wider and narrower, around what is in the middle. A picture that is drawn anew stays as wide as it was. */
function zoomButtons(view, wide, zoom) {
  const show = (middle) => {
    wide.style.width = `${100 * zoom.scale}%`;
    view.scrollLeft = middle * wide.offsetWidth - view.clientWidth / 2;
  };
  const turn = (by) => () => {
    const middle = (view.scrollLeft + view.clientWidth / 2) / wide.offsetWidth;
    zoom.scale = Math.min(WIDEST, Math.max(1, zoom.scale * by));
    show(middle);
  };
  view.addEventListener(
    "scroll",
    () => (zoom.middle = (view.scrollLeft + view.clientWidth / 2) / wide.offsetWidth),
  );
  requestAnimationFrame(() => show(zoom.middle));
  const button = (sign, label, by) =>
    h("button.quiet.tiny", { type: "button", "aria-label": label, onclick: turn(by) }, sign);
  return h("div.zoom", button("−", "Timeline narrower", 1 / 2), button("+", "Timeline wider", 2));
}

/** What the picture shows, in a sentence for those who do not see it. */
function described({ seconds: total, spans }) {
  const of = (kind) => spans.filter((span) => span.kind === kind);
  const sum = (some) => some.reduce((all, span) => all + span.end - span.start, 0);
  const said = Object.keys(KINDS)
    .filter((kind) => kind !== "idle" && of(kind).length)
    .map((kind) => `${KINDS[kind]} ${seconds(sum(of(kind)))} in ${several(of(kind).length, "piece")}`);
  return `${seconds(total)} in all: ${said.join("; ")}.`;
}
