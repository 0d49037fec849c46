// How jobs have ended.
import { svg } from "../chart.js";
import { h } from "../dom.js";
import { ago, count, plural, span } from "../format.js";
import { STATES, badge, workerLink } from "../ui.js";

/** Name, shape and colour of each outcome, and what the page of such a job says first. */
export const OUTCOMES = {
  done: { name: "Done", kind: "done", sign: "✓", says: "Completed" },
  dropped: { name: "Dropped", kind: "dead", sign: "✕", says: "Failed and dropped" },
  deleted: { name: "Deleted", kind: "scheduled", sign: "–", says: "Deleted" },
  expired: { name: "Expired", kind: "scheduled", sign: "◷", says: "Expired" },
};

export const outcomeBadge = (outcome) => {
  const { name, kind, sign } = OUTCOMES[outcome];
  return badge(name, kind, sign);
};

/** How long the last run took; null: it did not end in one. */
export const took = ({ began_at: began, ended_at: ended }) =>
  began === null ? null : (Date.parse(ended) - Date.parse(began)) / 1000;

/** "Completed 4 s ago, took 1.2 s, on web-1" */
export function story(job) {
  const seconds = took(job);
  return [
    `${OUTCOMES[job.outcome].says} `,
    ago(job.ended_at),
    seconds !== null && `, took ${span(seconds)}`,
    job.wid && [", on ", workerLink(job)],
    !job.wid && job.client > 0 && `, by connection ${count(job.client)}`,
    ".",
  ];
}

const BAR = { step: 10, wide: 7, high: 24, least: 5 };
const BARS_MAX = 10;

/** What became of a run of a cron entry: [kind, word]. */
function fate({ state, outcome, is_refused: isRefused }) {
  if (isRefused) return ["dead", "refused"];
  if (state !== null) return [state, STATES[state].name.toLowerCase()];
  return outcome === null
    ? ["", "ended"]
    : [OUTCOMES[outcome].kind, OUTCOMES[outcome].name.toLowerCase()];
}

/** "10 runs: 9 done, 1 dead, 0.2 s to 3.1 s" */
export function runsInWords(recent) {
  const counts = new Map();
  for (const [, word] of recent.map(fate)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const lengths = recent.map((each) => each.took_s).filter((each) => each !== null);
  const [least, most] = [Math.min(...lengths), Math.max(...lengths)].map((each) => span(each));
  const words = [...counts].map(([word, n]) => `${n} ${word}`);
  if (lengths.length > 0) words.push(least === most ? `took ${least}` : `${least} to ${most}`);
  return `${plural(recent.length, "run")}: ${words.join(", ")}`;
}

/**
 * The last runs of a cron entry as bars, the newest at the right: how long each took, and its
 * outcome as the colour.
 */
export function runBars(recent) {
  const longest = Math.max(0, ...recent.map((each) => each.took_s ?? 0));
  const bar = (each, i) => {
    const part = longest > 0 ? (each.took_s ?? 0) / longest : 0;
    const high = Math.round(BAR.least + part * (BAR.high - BAR.least));
    return svg("rect", {
      class: fate(each)[0] || "none",
      x: i * BAR.step,
      y: BAR.high - high,
      width: BAR.wide,
      height: high,
    });
  };
  return svg(
    "svg",
    {
      class: "runs",
      viewBox: `0 0 ${BARS_MAX * BAR.step} ${BAR.high}`,
      role: "img",
      "aria-label": runsInWords(recent),
    },
    recent.map(bar),
  );
}
