// Numbers and times in the few words that fit into a line. What is not known is a dash.

const NONE = "–";
const WHOLE = new Intl.NumberFormat("en");
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const FULL = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

const known = (write) => (value) => (value === null || value === undefined ? NONE : write(value));

export const count = known((value) => WHOLE.format(value));

export const compact = known((value) => COMPACT.format(value));

/** `1 call`, `2 calls`. */
export const several = (number, one, many = `${one}s`) =>
  `${WHOLE.format(number)} ${number === 1 ? one : many}`;

export const seconds = known((value) => {
  if (value < 0.001) return "<1 ms";
  if (value < 0.9995) return `${Math.round(value * 1000)} ms`;
  if (value < 9.95) return `${value.toFixed(1)} s`;
  const whole = Math.round(value);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
});

export const dollars = known((value) => {
  if (value === 0) return "$0";
  if (value < 0.0001) return "<$0.0001";
  return `$${value.toFixed(value < 0.01 ? 4 : value < 1 ? 3 : 2)}`;
});

export const percent = known((value) => `${(100 * value).toFixed(value > 0 && value < 0.1 ? 1 : 0)}%`);

/** When something was, as short as today allows. */
export const when = known((epoch) => {
  const [time, now] = [new Date(epoch * 1000), new Date()];
  if (time.toDateString() === now.toDateString()) return CLOCK.format(time);
  return (time.getFullYear() === now.getFullYear() ? DAY : DATE).format(time);
});

export const moment = known((epoch) => FULL.format(new Date(epoch * 1000)));

/** `timed_out` as people write it. */
export const words = (name) => String(name ?? "").replaceAll("_", " ");
