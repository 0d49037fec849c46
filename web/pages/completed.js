// Jobs that have ended, the latest first.
import { get } from "../api.js";
import { h } from "../dom.js";
import { ago, count, none, shownTime, span } from "../format.js";
import { go, link } from "../route.js";
import { empty, figure, head, pager, queueLink, table, workerLink } from "../ui.js";
import { filterField, filterForm } from "./job_filters.js";
import { tabs } from "./jobs.js";
import { OUTCOMES, outcomeBadge, took } from "../parts/outcomes.js";

const LIMIT = 50;

const FILTERS = [
  ["queue", "Queue", "name or prefix*"],
  ["type", "Type", "name or prefix*"],
];

const TIMES = [
  ["ended_since_ms", "Ended from"],
  ["ended_until_ms", "Ended before"],
];

export const COLUMNS = [
  ["Job", "wide"],
  ["Queue"],
  ["Outcome"],
  ["Took", "n"],
  ["Ended", "n"],
  ["Worker"],
];

const CUT = 60;
const cut = (text) => (text.length > CUT ? `${text.slice(0, CUT)}…` : text);

export function row(job) {
  const seconds = took(job);
  return h(
    "tr",
    { "data-key": String(job.id) },
    h(
      "td",
      { class: "wide" },
      h(
        "a",
        { class: "row", href: link(`jobs/${job.id}`) },
        h("span", { class: "type" }, job.type || "(type not known)"),
        h("span", { class: "id" }, ` ${job.id}`),
      ),
      h("div", { class: "dim", title: job.jid }, cut(job.jid)),
    ),
    h("td", {}, queueLink(job.queue)),
    h("td", {}, outcomeBadge(job.outcome)),
    figure(seconds === null ? none() : span(seconds)),
    figure(ago(job.ended_at)),
    h("td", { class: "line" }, job.wid ? workerLink(job) : none()),
  );
}

/** A filter that has no field: a link takes it away. */
const chip = (params, name, text) =>
  params[name] &&
  h(
    "a",
    { class: "chip", href: link("completed", { ...params, cursor: "", [name]: "" }) },
    h("span", {}, text),
    h("span", { "aria-label": "remove" }, " ✕"),
  );

function filters(params) {
  const put = (name, value) =>
    go(link("completed", { ...params, cursor: "", [name]: value.trim() }));
  const field = ([name, title, hint]) =>
    filterField(name, title, {
      value: params[name] ?? "",
      placeholder: hint,
      onchange: ({ target }) => put(name, target.value),
    });
  const option = (value, text) =>
    h("option", { value, selected: (params.outcome ?? "") === value }, text);
  return filterForm(
    FILTERS.map(field),
    h(
      "label",
      { class: "field" },
      h("span", {}, "Outcome"),
      h(
        "select",
        { onchange: ({ target }) => put("outcome", target.value) },
        option("", "any"),
        Object.entries(OUTCOMES).map(([value, { name }]) => option(value, name)),
      ),
    ),
    TIMES.map(([name, title]) => chip(params, name, `${title}: ${shownTime(params[name])}`)),
    chip(params, "wid", `Worker: ${cut(params.wid ?? "")}`),
  );
}

const reach = ({ since }) => `since ${shownTime(Date.parse(since))}`;

function nothing(params, { kept, since, limits }) {
  if (limits.jobs === 0)
    return empty("The server keeps no completed jobs: it was started with --keep-finished 0.");
  if (params.cursor) return empty("No more completed jobs.");
  if (since) return empty(`No match. Completed jobs are kept ${reach({ since })}.`);
  const time = span(limits.seconds);
  return empty(`No job has ended in the last ${time}, or since the server started.`);
}

export default {
  title: "Completed jobs",
  async load({ params }, signal) {
    const found = { ...(await get("finished", { ...params, limit: LIMIT }, { signal })) };
    found.jobs = [...found.jobs];
    // An answer covers some thousand jobs, of which few may match.
    while (found.next && found.jobs.length < LIMIT) {
      const page = await get(
        "finished",
        { ...params, cursor: found.next, limit: LIMIT - found.jobs.length },
        { signal },
      );
      found.jobs.push(...page.jobs);
      found.next = page.next;
    }
    return found;
  },
  render({ params }, found) {
    const { jobs, next, kept, since, counts, limits } = found;
    const { cursor: _, ...filter } = params;
    const isCounted = Object.keys(filter).length === 0 && kept !== null;
    return [
      head(["Completed jobs ", isCounted && h("span", { class: "count" }, count(kept))], [
        since && h("span", { class: "dim" }, reach(found)),
      ]),
      tabs({ queue: params.queue, type: params.type, wid: params.wid }, "completed", counts),
      filters(params),
      jobs.length > 0
        ? table("Completed jobs", COLUMNS, jobs.map(row), "cards")
        : nothing(params, found),
      pager(
        "completed",
        params,
        next,
        limits.jobs > 0 &&
          h(
            "span",
            { class: "dim" },
            `The server keeps the last ${count(limits.jobs)} for ${span(limits.seconds)}. `,
            limits.is_durable ? "They are kept across restarts." : "A restart clears them.",
          ),
      ),
    ];
  },
};
