// How far a batch is, and why it is not further.
import { svg } from "../chart.js";
import { h } from "../dom.js";
import { clock, count } from "../format.js";
import { link } from "../route.js";
import { part } from "../api.js";
import { queueLink } from "../ui.js";

/** Key, colour, shape and word of each part of the members, in the order of the bar. */
const PARTS = [
  ["succeeded", "done", "✓", "succeeded"],
  ["reserved", "reserved", "▶", "running"],
  ["ready", "ready", "●", "ready"],
  ["scheduled", "scheduled", "◷", "scheduled"],
  ["retrying", "retrying", "↻", "retrying"],
  ["dead", "dead", "✕", "dead"],
  ["lost", "dead lost", "–", "failed permanently"],
];
/** The width of a bar in its own units, and of its smallest part. */
const WIDE = 1000;
const LEAST = 8;

const numberOf = (batch, key) => batch.members[key] ?? batch[key];
const partsOf = (batch) =>
  PARTS.map(([key, ...more]) => [numberOf(batch, key), key, ...more]).filter(([n]) => n > 0);

/** A bar with a part for each state of the members. What it says is to be written beside it. */
export function progressBar(batch, place = {}) {
  const parts = partsOf(batch);
  const whole = parts.reduce((all, [n]) => all + Math.max(n, (batch.total * LEAST) / WIDE), 0);
  let x = 0;
  const rects = parts.map(([n, , kind]) => {
    const wide = (Math.max(n, (batch.total * LEAST) / WIDE) / whole) * WIDE;
    x += wide;
    const x0 = (x - wide).toFixed(1);
    return svg("rect", { class: kind, x: x0, width: wide.toFixed(1), height: 1 });
  });
  return svg(
    "svg",
    {
      class: "bar",
      viewBox: `0 0 ${WIDE} 1`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
      ...place,
    },
    rects,
  );
}

/** The members by state; those that are there lead to their jobs. */
export function memberCounts(batch) {
  const parts = partsOf(batch);
  const hasSeveralOpen = parts.filter(([, key]) => key in batch.members).length > 1;
  return h(
    "ul",
    { class: "parts" },
    parts.map(([n, key, kind, shape, word]) =>
      h(
        "li",
        { class: kind, "data-key": key },
        h("span", { class: "sign", "aria-hidden": "true" }, shape),
        " ",
        key in batch.members
          ? h("a", { href: link("jobs", { bid: batch.bid, state: key }) }, `${count(n)} ${word}`)
          : `${count(n)} ${word}`,
      ),
    ),
    hasSeveralOpen &&
      h(
        "li",
        { "data-key": "open" },
        h(
          "a",
          { href: link("jobs", { bid: batch.bid, state: "any" }) },
          `${count(batch.pending)} open in all`,
        ),
      ),
  );
}

/** `text` with a link in place of the last `name` after `before`. */
function linked(pieces, before, name, anchor) {
  if (name === null) return pieces;
  return pieces.flatMap((piece) => {
    const at = typeof piece === "string" ? piece.lastIndexOf(before + name) : -1;
    if (at < 0) return [piece];
    const begin = at + before.length;
    return [piece.slice(0, begin), anchor(), piece.slice(begin + name.length)];
  });
}

/** Why the batch has not succeeded yet; null: it has. */
export function causeOf({ cause }, kind = "") {
  if (!cause) return null;
  const { text, bid, batch, queue, job, is_blocked: isBlocked, next_at: next } = cause;
  const batchAnchor = () => h("a", { href: link(`batches/${part(bid ?? "")}`) }, batch);
  const jobAnchor = () => h("a", { href: link(`jobs/${job}`) }, `job ${job}`);
  let pieces = linked([text], "batch ", batch, batchAnchor);
  pieces = linked(pieces, "in ", queue, () => queueLink(queue));
  pieces = linked(pieces, "Retry ", job === null ? null : `job ${job}`, jobAnchor);
  return h(
    "p",
    { class: `cause ${isBlocked ? "blocked" : ""} ${kind}` },
    isBlocked && [h("span", { class: "sign", "aria-hidden": "true" }, "▲"), " "],
    pieces,
    next && [", the next at ", clock(next)],
    ".",
  );
}
