// How jobs have ended.
import { h } from "../dom.js";
import { ago, count, span } from "../format.js";
import { badge, workerLink } from "../ui.js";

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
