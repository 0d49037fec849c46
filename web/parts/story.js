// What happened to a job: a bar of its waits and runs, and the same in words.
import { serverNow } from "../api.js";
import { svg } from "../chart.js";
import { h } from "../dom.js";
import { ago, plural, shownTime, span } from "../format.js";

const [WIDTH, HEIGHT] = [1000, 14];
/** The shortest part that can be seen, in the drawing's units. */
const PART_MIN = 6;

/** What a part of the bar shows. Of attempts before the first one that is kept nothing is known. */
const PARTS = { waited: "waited", ran: "running", done: "ran", failed: "failed", lost: "not kept" };

/** How an attempt ended. */
export const OUTCOMES = {
  failed: "failed",
  expired: "timed out",
  timed_out: "timed out",
  worker_lost: "lost its worker",
  released: "was given back by its worker",
  ended_late: "was acknowledged late",
};
const KINDS = { released: "ran", ended_late: "done" };

const at = (iso) => Date.parse(iso);

/**
 * The parts of a job's life: { kind, from, to, what }. `last` is its last run, not one of the
 * attempts: { from, to, kind }, or null. `end` is when it ended, or now.
 */
function partsOf({ created_at: created, attempts }, last, end) {
  const parts = [];
  let [reached, number] = [at(created), 0];
  // A run of less than a millisecond is one, a wait is none.
  const add = (kind, to, what = PARTS[kind]) => {
    const isRun = kind !== "waited" && kind !== "lost";
    if (to > reached || isRun) parts.push({ kind, from: reached, to: Math.max(to, reached), what });
    reached = Math.max(reached, to);
  };
  for (const each of attempts) {
    const isWhole = each.number === number + 1;
    add(isWhole ? "waited" : "lost", at(each.began_at));
    const kind = KINDS[each.outcome] ?? "failed";
    add(kind, at(each.ended_at), `attempt ${each.number} ${OUTCOMES[each.outcome]}`);
    ({ number } = each);
  }
  if (last && last.from >= reached) {
    add("waited", last.from);
    add(last.kind, last.to);
  }
  add("waited", end);
  return parts;
}

const secondsOf = (parts, ...kinds) =>
  parts
    .filter(({ kind }) => kinds.includes(kind))
    .reduce((sum, { from, to }) => sum + (to - from) / 1000, 0);

/** The bar, and how long the job waited and ran; null: it has not run. */
export function lifeBar(job, last, end = serverNow()) {
  const parts = partsOf(job, last, end);
  const runs = parts.filter(({ kind }) => kind === "ran" || kind === "done" || kind === "failed");
  if (runs.length === 0) return null;
  const all = secondsOf(parts, ...Object.keys(PARTS)) * 1000;
  const wide = parts.map(({ from, to }) => Math.max(PART_MIN, ((to - from) / (all || 1)) * WIDTH));
  const scale = WIDTH / wide.reduce((sum, each) => sum + each, 0);
  let x = 0;
  const rects = parts.map(({ kind, from, to, what }, i) => {
    const width = wide[i] * scale;
    const said = `${what}, ${span((to - from) / 1000)}, from ${shownTime(from)}`;
    const rect = svg(
      "rect",
      { x: x.toFixed(1), width: width.toFixed(1), height: HEIGHT, class: kind },
      svg("title", {}, said),
    );
    x += width;
    return rect;
  });
  const told = [
    `Waited ${span(secondsOf(parts, "waited"))}`,
    `ran ${span(secondsOf(parts, "ran", "done", "failed"))} in ${plural(runs.length, "run")}`,
  ].join(", ");
  const options = {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": `${told}: ${parts.map(({ what }) => what).join(", ")}`,
  };
  return h(
    "div",
    { class: "life" },
    svg("svg", options, rects),
    h(
      "div",
      { class: "xs" },
      h("span", {}, shownTime(at(job.created_at))),
      h("span", {}, shownTime(end)),
    ),
    h("p", { class: "dim" }, `${told}.`),
  );
}

/** Events as [time, what, more], in their order; those to come are dimmed. */
export function timeline(steps) {
  const now = steps.findLastIndex(([time]) => time && at(time) <= serverNow() + 1000);
  return h(
    "ol",
    { class: "story" },
    steps.map(([time, what, more], i) => {
      const before = i > 0 && time && steps[i - 1][0] ? (at(time) - at(steps[i - 1][0])) / 1000 : 0;
      return h(
        "li",
        { class: i === now ? "now" : i > now ? "later" : null },
        h("strong", {}, what),
        " ",
        time && [ago(time), h("span", { class: "dim" }, `, ${shownTime(at(time))}`)],
        i <= now && before > 0.01 && h("span", { class: "dim" }, `, ${span(before)} later`),
        more && h("div", { class: "dim" }, more),
      );
    }),
  );
}
