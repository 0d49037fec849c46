import { get, ifAllowed, nameOf, part } from "../api.js";
import { h } from "../dom.js";
import { age, ago, count, rate, span } from "../format.js";
import { changeAll } from "../operation.js";
import { link } from "../route.js";
import {
  button,
  empty,
  facts,
  figure,
  head,
  jobIn,
  jobsLink,
  pager,
  pausedBadge,
  table,
  throttledBadge,
} from "../ui.js";
import { findTopErrors, topErrors } from "./errors.js";
import { clear, remove, turnPause } from "./queues.js";
import { args, jobLink, priority } from "./jobs.js";
import { lastChange } from "../parts/actions.js";
import { limitsText } from "../parts/limits.js";
import {
  chartSection,
  lengthChart,
  loadSeries,
  readyChart,
  speedChart,
  speedsOf,
  withoutRange,
} from "../parts/series.js";
import { loadMoment, momentSection } from "../parts/moment.js";
import { servedBy } from "../parts/served.js";

const LIMIT = 50;

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

const MOVED = ["ready", "scheduled", "retrying", "dead"];

const move = (ctx, { name }) =>
  changeAll("move", { states: MOVED, queue: name }, `all jobs of ${name}`, ctx.refresh);

const times = (p50, p95) => `p50 ${span(p50)} · p95 ${span(p95)}`;

/** How long the queue takes to become empty if everything goes on as now. */
function drains({ ready, enqueued_per_s: comes, processed_per_s: goes, is_paused: isPaused }) {
  if (ready === 0 || isPaused || goes === 0) return null;
  if (goes <= comes) return goes < comes ? `growing ${rate(comes - goes)}` : "steady";
  return `empty in about ${span(ready / (goes - comes))} at this pace`;
}

function about(queue) {
  const { name } = queue;
  const jobs = (state, n) => jobsLink(n, { state, queue: name }, jobIn(state));
  const drain = drains(queue);
  return facts([
    ["Ready", [jobs("ready", queue.ready), drain && h("div", { class: "dim" }, drain)]],
    ["Oldest", age(queue.oldest_ready_at)],
    ["Running", jobs("reserved", queue.reserved)],
    ["Scheduled", jobs("scheduled", queue.scheduled)],
    ["Retrying", jobs("retrying", queue.retrying)],
    ["Dead", jobs("dead", queue.dead)],
    ["Enqueued", rate(queue.enqueued_per_s)],
    ["Processed", rate(queue.processed_per_s)],
    ["Failed", rate(queue.failed_per_s)],
    queue.expired > 0 && ["Expired", `${count(queue.expired)} since the start`],
    queue.wait_p50_s !== null && ["Waits", times(queue.wait_p50_s, queue.wait_p95_s)],
    queue.run_p50_s !== null && ["Runs", times(queue.run_p50_s, queue.run_p95_s)],
    ["Workers", servedBy(queue)],
    lastChange(queue.last_change),
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

function charts({ params }, name, series) {
  const id = `queue ${name}`;
  const of = { queue: name };
  const pair = (...each) => h("div", { class: "pair" }, each);
  return chartSection(
    params,
    series,
    series.is_recorded
      ? [
          pair(
            speedChart(id, "Jobs per second", speedsOf(series), of),
            readyChart(id, series, of),
          ),
          pair(
            lengthChart(id, "Queue latency", series, "wait", of),
            lengthChart(id, "Run time", series, "run", of),
          ),
        ]
      : h(
          "p",
          { class: "empty" },
          "Nothing is recorded of this queue yet. The server records the 1,000 queues that were " +
            "in use most recently.",
        ),
  );
}

export default {
  title: "Queue",
  titleOf: ({ args: [name] }, data) => data?.queue.name ?? name,
  async load({ args: [name], params }, signal) {
    const { cursor, ...more } = withoutRange(params);
    const series = loadSeries(params, { queue: nameOf(name) }, signal);
    const [queue, recorded, page, errors, moment] = await Promise.all([
      get(`queues/${part(name)}`, more, { signal }),
      series,
      get("jobs", { state: "ready", queue: nameOf(name), cursor, limit: LIMIT }, { signal }),
      ifAllowed("errors", () => findTopErrors({ queue: nameOf(name) }, signal)),
      series.then((all) => loadMoment(nameOf(name), all, signal)),
    ]);
    return { queue, series: recorded, page, errors, moment };
  },
  render(ctx, { queue, series, page: { jobs, next }, errors, moment }) {
    const { cursor } = ctx.params;
    const actions = !ctx.mayOperate(queue.name)
      ? []
      : [
          button(queue.is_paused ? "Resume" : "Pause", () => turnPause(ctx, queue), {
            key: "pause",
          }),
          h("span", { class: "gap" }),
          button("Move jobs", () => move(ctx, queue), {
            kind: "plain",
            // As a filter it would mean all queues whose names begin so.
            disabled: queue.name.endsWith("*"),
            key: "move",
          }),
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
      charts(ctx, queue.name, series),
      momentSection(queue.name, series, moment),
      h("h2", {}, "Next in line"),
      list,
      pager(`queues/${part(queue.name)}`, ctx.params, next),
      errors && topErrors(errors, { queue: queue.name }),
    ];
  },
};
