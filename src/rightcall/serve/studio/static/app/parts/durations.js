// How long the calls of a tool took: a bar for each stretch of time, on a scale that doubles.

import { svg } from "../dom.js";
import { seconds, several } from "../format.js";

const BARS = 16;
const [HIGH, AXIS] = [56, 14];

export function durations({ durations: found, p50, p95 }) {
  const least = Math.max(Math.min(...found), 0.0005);
  const span = Math.max(Math.log2(Math.max(...found) / least), 1);
  const bars = Array(BARS).fill(0);
  for (const took of found)
    bars[Math.min(BARS - 1, Math.floor((BARS * Math.log2(Math.max(took, least) / least)) / span))] += 1;
  const tallest = Math.max(...bars);
  const drawn = bars.map((number, at) => {
    const tall = (HIGH * number) / tallest;
    const [from, to] = [at, at + 1].map((edge) => seconds(least * 2 ** ((span * edge) / BARS)));
    return svg(
      "g",
      svg("title", `${several(number, "call")} from ${from} to ${to}`),
      svg("rect.duration", {
        x: `${(100 * at) / BARS + 0.4}%`,
        width: `${100 / BARS - 0.8}%`,
        y: HIGH - tall,
        height: tall,
      }),
    );
  });
  const label = `How long ${several(found.length, "call")} took: half within ${seconds(p50)}, 95% within ${seconds(p95)}`;
  return svg(
    "svg.durations",
    { width: "100%", height: HIGH + AXIS, role: "img", "aria-label": label },
    drawn,
    svg("text", { x: 0, y: HIGH + AXIS - 1 }, seconds(least)),
    svg("text", { x: "100%", y: HIGH + AXIS - 1, "text-anchor": "end" }, seconds(least * 2 ** span)),
  );
}
