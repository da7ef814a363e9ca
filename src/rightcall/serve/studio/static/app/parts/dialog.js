// A modal dialog of the browser's own: it traps the focus, closes by Escape, and gives the focus back.

import { h } from "../dom.js";

/** Open one with this heading; it is gone from the page once it closes. Gives the dialog. */
export function openDialog(heading, ...content) {
  const close = h(
    "button.quiet.close",
    { type: "button", "aria-label": "Close", onclick: () => dialog.close() },
    "✕",
  );
  const title = h("h2", { id: "dialog-title" }, heading);
  const dialog = h(
    "dialog",
    { "aria-labelledby": "dialog-title" },
    h("div.dialog-head", title, close),
    ...content,
  );
  const before = document.activeElement;
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before?.isConnected) before.focus();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
