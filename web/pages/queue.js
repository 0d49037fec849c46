import { get, part } from "../api.js";
import { h } from "../dom.js";
import { age, ago, count, rate } from "../format.js";
import { link } from "../route.js";
import {
  button,
  empty,
  facts,
  figure,
  head,
  jobsLink,
  pager,
  pausedBadge,
  table,
  throttledBadge,
} from "../ui.js";
import { clear, remove, turnPause } from "./queues.js";
import { args, jobLink, priority } from "./jobs.js";
import { limitsText } from "./limits.js";
import { servedBy } from "./served.js";

const LIMIT = 50;
/** Undoes the double escape of "." and "..": see `part`. */
const nameOf = (text) => (/^(%2E){1,2}$/.test(text) ? decodeURIComponent(text) : text);

function row(job, place) {
  return h(
    "tr",
    { "data-key": String(job.id) },
    h("td", { class: "n dim" }, place === null ? "" : count(place)),
    h("td", {}, jobLink(job)),
    h("td", { class: "wide args" }, args(job)),
    figure(priority(job)),
    figure(ago(job.enqueued_at)),
  );
}

function about(queue) {
  const { name } = queue;
  const jobs = (state, n) => jobsLink(n, { state, queue: name }, `${state} job`);
  return facts([
    ["Ready", jobs("ready", queue.ready)],
    ["Oldest", age(queue.oldest_ready_at)],
    ["Reserved", jobs("reserved", queue.reserved)],
    ["Scheduled", jobs("scheduled", queue.scheduled)],
    ["Retrying", jobs("retrying", queue.retrying)],
    ["Dead", jobs("dead", queue.dead)],
    ["Enqueued", rate(queue.enqueued_per_s)],
    ["Processed", rate(queue.processed_per_s)],
    ["Failed", rate(queue.failed_per_s)],
    ["Workers", servedBy(queue)],
    queue.throttle && [
      "Limits",
      [
        h("a", { href: link("throttles") }, limitsText(queue.throttle.limits)),
        queue.throttle.taken > 0 &&
          h("span", { class: "dim" }, `, ${count(queue.throttle.taken)} running`),
      ],
    ],
  ]);
}

export default {
  title: "Queue",
  titleOf: ({ args: [name] }, data) => data?.queue.name ?? name,
  async load({ args: [name], params: { cursor, ...more } }, signal) {
    const [queue, page] = await Promise.all([
      get(`queues/${part(name)}`, more, { signal }),
      get("jobs", { state: "ready", queue: nameOf(name), cursor, limit: LIMIT }, { signal }),
    ]);
    return { queue, page };
  },
  render(ctx, { queue, page: { jobs, next } }) {
    const { cursor } = ctx.params;
    const actions = ctx.isReadOnly
      ? []
      : [
          button(queue.is_paused ? "Resume" : "Pause", () => turnPause(ctx, queue), {
            key: "pause",
          }),
          h("span", { class: "gap" }),
          button("Clear", () => clear(ctx, queue), {
            kind: "danger",
            disabled: queue.ready === 0,
            key: "clear",
          }),
          button("Delete", () => remove(ctx, queue), {
            kind: "danger",
            key: "delete",
          }),
        ];
    const list =
      jobs.length > 0
        ? table(
            "Ready jobs in the order in which workers get them",
            [["#", "n"], ["Job"], ["Arguments", "wide"], ["Priority", "n"], ["Enqueued", "n"]],
            jobs.map((each, i) => row(each, cursor ? null : i + 1)),
            "cards",
          )
        : empty(cursor ? "No more jobs." : "No ready jobs.");
    return [
      h("p", { class: "crumbs" }, h("a", { href: link("queues") }, "Queues")),
      head(
        [queue.name, pausedBadge(queue), throttledBadge(queue)],
        ...actions,
      ),
      about(queue),
      h("h2", {}, "Next in line"),
      list,
      pager(`queues/${part(queue.name)}`, ctx.params, next),
    ];
  },
};
