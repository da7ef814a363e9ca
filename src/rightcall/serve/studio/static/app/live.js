// Server-sent events, for as long as a view is shown and somebody can see it.

import { announce } from "./announce.js";

/**
 * Call `handlers[event](data)` for every event of `where()`, until `signal` aborts.
 *
 * A browser opens six connections to a server and no more, so a page in the background gives its own back; when it
 * is looked at again, `where` says from where on. `onState` is told "open" or "lost", so that nobody takes a page
 * that stands still for a run that does.
 */
export function watch(where, handlers, signal, onState = () => {}) {
  let source = null;
  let state = "";
  const turn = (next) => {
    if (state === "lost" && next === "open") announce("Connected again.");
    if (state === "open" && next === "lost") announce("The connection is lost; trying again.");
    state = next;
    onState(next);
  };
  const open = () => {
    source = new EventSource(where());
    source.addEventListener("open", () => turn("open"));
    source.addEventListener("error", () => turn("lost"));
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    }
  };
  const look = () => {
    source?.close();
    source = null;
    if (!document.hidden) open();
  };
  document.addEventListener("visibilitychange", look, { signal });
  signal.addEventListener("abort", () => source?.close(), { once: true });
  look();
}

/** A function that acts at most so often, and always after the last time it was asked to. */
export function throttled(act, milliseconds) {
  let timer = 0;
  return () => {
    timer ||= setTimeout(() => {
      timer = 0;
      act();
    }, milliseconds);
  };
}
