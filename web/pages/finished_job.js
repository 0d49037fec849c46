// The page of a job that has ended.
import { h } from "../dom.js";
import { ago, count, none, plural } from "../format.js";
import { link } from "../route.js";
import { cronLink, facts, head, queueLink, section, workerLink } from "../ui.js";
import { lastChange } from "../parts/actions.js";
import { againFacts } from "../parts/again.js";
import { attemptStep } from "../parts/attempts.js";
import { copyButton } from "../parts/copies.js";
import { OUTCOMES, outcomeBadge, story } from "../parts/outcomes.js";
import { args } from "./jobs.js";
import { lifeBar, timeline } from "../parts/story.js";

/** The run that ended it; null: none did. Where it failed, the last attempt is that run. */
function lastRun({ began_at: began, ended_at: ended, outcome, attempts }) {
  if (began === null || attempts.at(-1)?.began_at === began) return null;
  const kind = { done: "done", dropped: "failed" }[outcome] ?? "ran";
  return { kind, from: Date.parse(began), to: Date.parse(ended) };
}

/** Without the attempt that was acknowledged late: it has ended the job, and is its last run. */
const withoutLate = (job) => {
  const isLate = job.outcome === "done" && job.attempts.at(-1)?.began_at === job.began_at;
  return isLate ? { ...job, attempts: job.attempts.slice(0, -1) } : job;
};

function steps(job) {
  const { created_at: created, began_at: began, wid, client } = job;
  return [
    [
      created,
      "Created",
      job.is_pushed ? "pushed by a Faktory client" : "put by a beanstalk client",
    ],
    ...job.attempts.map(attemptStep),
    lastRun(job) && [
      began,
      "Reserved",
      wid ? ["by worker ", workerLink(job)] : client && `by connection ${count(client)}`,
    ],
    [job.ended_at, OUTCOMES[job.outcome].says],
  ].filter(Boolean);
}

export const titleOf = (job) => `${job.type || "Job"} ${job.id}`;

export function render(finished) {
  const job = withoutLate(finished);
  return [
    h("p", { class: "crumbs" }, h("a", { href: link("completed") }, "Completed jobs")),
    head([
      h("span", { class: "type" }, job.type || "(type not known)"),
      " ",
      h("span", { class: "id" }, job.id),
      outcomeBadge(job.outcome),
    ]),
    section(
      "Timeline",
      null,
      h("p", {}, story(job)),
      lifeBar(job, lastRun(job), Date.parse(job.ended_at)),
      timeline(steps(job)),
      h(
        "p",
        { class: "dim" },
        job.runs > 0 ? `${plural(job.runs, "run")} in all` : "It never ran.",
      ),
    ),
    section(
      "Details",
      null,
      facts([
        ["Queue", queueLink(job.queue)],
        job.cron && ["Cron entry", cronLink(job.cron)],
        [
          "jid",
          job.jid
            ? [h("code", {}, job.jid), " ", copyButton("Copy", "jid", () => job.jid)]
            : none(),
        ],
        ...againFacts(job.again),
        ["Created", ago(job.created_at)],
        job.enqueued_at && ["Last enqueued", ago(job.enqueued_at)],
        job.began_at && ["Last run began", ago(job.began_at)],
        ["Ended", ago(job.ended_at)],
        lastChange(job.last_change),
      ]),
      job.args === null
        ? h("p", { class: "dim" }, "Arguments are kept only of jobs that failed for good.")
        : h("p", { class: "args" }, args({ args: job.args })),
    ),
  ];
}
