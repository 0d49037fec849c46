import { h } from "../dom.js";
import { plural, span } from "../format.js";
import { section, workerLink } from "../ui.js";
import { OUTCOMES, timeline } from "./story.js";

/** That of the last failure. */
export const backtrace = ({ backtrace: lines }) =>
  lines.length > 0
    ? h("pre", { class: "trace", tabindex: "0", "aria-label": "Backtrace" }, lines.join("\n"))
    : h("p", { class: "dim" }, "The worker sent no backtrace.");

function holder(attempt) {
  const { wid, client } = attempt;
  if (wid) return [" on ", workerLink(attempt)];
  return client ? ` by connection ${client}` : " by a producer";
}

/** A run that did not end well as a step of a timeline: [time, what, more]. */
export function attemptStep(it) {
  const { error } = it;
  const took = (Date.parse(it.ended_at) - Date.parse(it.began_at)) / 1000;
  return [
    it.ended_at,
    `Attempt ${it.number} ${OUTCOMES[it.outcome]}`,
    [
      `after ${span(took)}`,
      holder(it),
      error && h("div", {}, [error.type, error.message].filter(Boolean).join(": ")),
      error &&
        error.backtrace.length > 0 &&
        h(
          "details",
          {},
          h("summary", {}, plural(error.backtrace.length, "line")),
          h(
            "pre",
            { tabindex: 0, "aria-label": `Backtrace of attempt ${it.number}` },
            error.backtrace.join("\n"),
          ),
        ),
    ],
  ];
}

/** The last runs of a job that did not end well, oldest first. */
export function attempts(job) {
  if (job.attempts.length === 0) return null;
  return section("Attempts", null, timeline(job.attempts.map(attemptStep)));
}
