// Pictures, sounds and files out of a run. Bytes come from this server; an address in a run is shown and never asked.

import { h } from "../dom.js";
import { clipped, inline } from "../stored.js";

const PLAYERS = {
  image: (media) =>
    h("img", {
      src: media.url,
      alt: clipped(media.name || "Picture without a name", 100),
      loading: "lazy",
    }),
  audio: (media) =>
    h("audio", {
      src: media.url,
      controls: true,
      preload: "none",
      "aria-label": clipped(media.name || "Sound", 100),
    }),
  video: (media) =>
    h("video", {
      src: media.url,
      controls: true,
      preload: "none",
      "aria-label": clipped(media.name || "Film", 100),
    }),
};

/** One piece of media, with what it is under it. */
export function mediaFigure(media) {
  const player = media.url && media.inline && PLAYERS[media.kind]?.(media);
  return h(
    "figure.media",
    player,
    h(
      "figcaption",
      inline(media.about, 200),
      media.url && [" · ", h("a", { href: media.url, download: "" }, "save")],
    ),
  );
}
