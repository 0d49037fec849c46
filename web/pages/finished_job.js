// The page of a job that has ended.
import { h } from "../dom.js";
import { ago, none, plural } from "../format.js";
import { link } from "../route.js";
import { facts, head, queueLink, section } from "../ui.js";
import { copyButton } from "../parts/copies.js";
import { outcomeBadge, story } from "../parts/outcomes.js";

export const titleOf = (job) => `${job.type || "Job"} ${job.id}`;

export function render(job) {
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
        [
          "jid",
          job.jid
            ? [h("code", {}, job.jid), " ", copyButton("Copy", "jid", () => job.jid)]
            : none(),
        ],
        ["Created", ago(job.created_at)],
        job.enqueued_at && ["Last enqueued", ago(job.enqueued_at)],
        job.began_at && ["Last run began", ago(job.began_at)],
        ["Ended", ago(job.ended_at)],
      ]),
      h("p", { class: "dim" }, "The arguments of completed jobs are not kept."),
    ),
  ];
}
