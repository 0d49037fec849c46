import { get, ifAllowed, part } from "../api.js";
import { chart, spark } from "../chart.js";
import { h } from "../dom.js";
import { age, count, plural, rate, rateUnit, sentence, short } from "../format.js";
import { noteHealth } from "../health.js";
import { helpLink } from "../help.js";
import { clusterSections } from "../nodes.js";
import {
  chartSection,
  choices,
  lengthChart,
  loadSeries,
  rangeOf,
  readyChart,
  spanOf,
  speedChart,
  speedsOf,
  withoutRange,
} from "../parts/series.js";
import { link } from "../route.js";
import { firstRun, loadFirstRun } from "./first_run.js";
import { STATES, figure, pausedBadge, queueLink, section, sign, table } from "../ui.js";

const DAYS = [7, 30, 90, 180];
const DAYS_USUAL = 30;

/** How many points a line of a tile has. */
const SPARK_POINTS = 60;
/** The colour of each line. */
const INKS = {
  processed: "good",
  failed: "bad",
  enqueued: "ready",
  reserved: "running",
  dead: "bad",
};

const tile = (name, value, sub, href, kind, line) =>
  h(
    "div",
    { class: `tile ${kind ?? ""}` },
    h(
      "span",
      { class: "name" },
      kind && STATES[kind] && h("i", { "aria-hidden": "true" }, STATES[kind].sign),
      name,
    ),
    href ? h("a", { class: "value", href }, value) : h("span", { class: "value" }, value),
    h("span", { class: "sub" }, sub),
    line,
  );

/** The mean of each part, so that a short line shows the whole time. */
function thinned(values) {
  const size = Math.ceil(values.length / SPARK_POINTS);
  const parts = [];
  for (let end = values.length; end > 0; end -= size) {
    const part = values.slice(Math.max(0, end - size), end);
    parts.unshift(part.reduce((all, each) => all + each, 0) / part.length);
  }
  return parts;
}

/** A line of the last 15 minutes by name; nothing before there are two points, or without them. */
function lineOf(trend, speeds) {
  const { members, samples } = trend ?? { members: [], samples: [] };
  return (name) => {
    const column = members.indexOf(name);
    const values = speeds[name] ?? (column < 0 ? [] : samples.map((each) => each[column]));
    return values.length > 1 && spark(thinned(values), INKS[name] ?? name);
  };
}

function workersTile({ workers, busy_workers: busy, jobs }) {
  const share = busy === null ? "" : `${Math.round((100 * busy) / workers)} % busy, `;
  const sub = workers === 0 ? "none connected" : share + plural(jobs.reserved, "job");
  return tile("Workers", short(workers), sub, link("workers"));
}

/** Days are not counted of a part of the queues. */
const sofar = (total, today) =>
  today === undefined
    ? `${short(total)} since the start`
    : `${short(total)} total, ${short(today)} today`;

function tiles(overview, trend, speeds) {
  const { jobs, per_s: perSecond, totals, today } = overview;
  const line = lineOf(trend, speeds);
  const unit = rateUnit(Object.values(perSecond));
  const state = (name, sub) =>
    tile(
      STATES[name].name,
      short(jobs[name]),
      sub,
      link("jobs", { state: name }),
      name,
      line(name),
    );
  return h(
    "div",
    { class: "tiles" },
    tile(
      "Processed",
      rate(perSecond.processed, unit),
      sofar(totals.processed, today?.processed),
      null,
      null,
      line("processed"),
    ),
    tile(
      "Failed",
      rate(perSecond.failed, unit),
      sofar(totals.failed, today?.failed),
      link("errors"),
      null,
      line("failed"),
    ),
    tile(
      "Enqueued",
      rate(perSecond.enqueued, unit),
      `${short(totals.enqueued)} since the start`,
      null,
      null,
      line("enqueued"),
    ),
    state("ready", "waiting for a worker"),
    state("reserved", "held by workers"),
    state("scheduled", "not due yet"),
    state("retrying", "will be retried"),
    state("dead", "out of retries"),
    overview.workers === null
      ? tile("Queues", short(overview.queues), "that you may view", link("queues"))
      : workersTile(overview),
  );
}

/** Numbers per second from the differences of the totals, every two seconds. */
function speedsNow(samples) {
  const out = { times: [], step_s: 2, processed: [], failed: [], enqueued: [] };
  for (let i = 1; i < samples.length; i += 1) {
    const [before, now] = [samples[i - 1], samples[i]];
    const seconds = (now[0] - before[0]) / 1000;
    out.times.push(now[0] / 1000);
    ["processed", "failed", "enqueued"].forEach((each, k) =>
      out[each].push((now[k + 1] - before[k + 1]) / seconds),
    );
  }
  return out;
}

function historyChart(days, shown, today, params) {
  const byDay = new Map(shown.map((each) => [each.day, each]));
  const end = Date.parse(`${today}T00:00:00Z`);
  const [times, processed, failed] = [[], [], []];
  for (let i = days - 1; i >= 0; i -= 1) {
    const time = end - i * 86400000;
    const each = byDay.get(new Date(time).toISOString().slice(0, 10));
    times.push(time / 1000);
    processed.push(each?.processed ?? 0);
    failed.push(each?.failed ?? 0);
  }
  const sum = (values) => count(values.reduce((all, n) => all + n, 0));
  return section(
    "Jobs per day",
    choices(
      "Length of the history",
      "days",
      DAYS.map((n) => [n, `${n} days`]),
      days,
      params,
      DAYS_USUAL,
    ),
    chart("history", {
      times,
      isDays: true,
      format: short,
      summary: `The last ${days} days: ${sum(processed)} processed, ${sum(failed)} of them failed.`,
      series: [
        { label: "Processed", color: "good", values: processed },
        { label: "Failed", color: "bad", values: failed },
      ],
    }),
  );
}

function attention({ attention: all, attention_left_out: more, oldest_ready: oldest, jobs }) {
  const row = ({ level, kind, text, queue, wid, worker, error }) =>
    h(
      "li",
      { class: level, "data-key": `${kind}/${queue ?? wid ?? error ?? ""}` },
      sign(level === "trouble" ? "▲" : "●"),
      h(
        "span",
        {},
        h("span", { class: "hidden" }, level === "trouble" ? "Trouble: " : "Notice: "),
        queue && [queueLink(queue), ` ${text}.`],
        wid && [
          "Worker ",
          h("a", { href: link(`workers/${part(wid)}`), title: wid }, worker),
          ` ${text}.`,
        ],
        kind === "failures" && [h("a", { href: link("errors") }, text), "."],
        error && [h("a", { href: link(`errors/${error}`) }, text), "."],
        !queue && !wid && !error && kind !== "failures" && `${text}.`,
      ),
    );
  const wait =
    oldest &&
    h(
      "li",
      { class: "plain", "data-key": "oldest" },
      sign("◷"),
      h(
        "span",
        {},
        "The oldest ready job has waited ",
        age(oldest.since),
        " in ",
        queueLink(oldest.queue),
        ".",
      ),
    );
  return section(
    "Attention",
    null,
    h(
      "ul",
      { class: "attention" },
      all.map(row),
      wait,
      all.length === 0 &&
        !wait &&
        h(
          "li",
          { class: "plain", "data-key": "none" },
          sign("✓", "good"),
          h(
            "span",
            {},
            jobs.dead > 0
              ? "Nothing is waiting. Dead jobs can be retried or deleted."
              : "Nothing is waiting, and nothing is wrong.",
          ),
        ),
      more > 0 &&
        h(
          "li",
          { class: "plain", "data-key": "more" },
          sign(""),
          h("span", {}, `and ${count(more)} more like these`),
        ),
    ),
  );
}

function worst(queues) {
  const unit = rateUnit(queues.map((each) => each.processed_per_s));
  const rows = queues.map((each) =>
    h(
      "tr",
      { "data-key": each.name },
      h(
        "td",
        { class: "wide" },
        queueLink(each.name),
        pausedBadge(each),
      ),
      figure(count(each.ready)),
      figure(age(each.oldest_ready_at)),
      figure(rate(each.processed_per_s, unit)),
    ),
  );
  return section(
    "Longest waits",
    h("a", { href: link("queues", { sort: "oldest", order: "desc" }) }, "All queues"),
    rows.length === 0
      ? h("p", { class: "empty" }, "No queue has waiting jobs.")
      : table(
          "Queues with the longest waits",
          [
            ["Queue", "wide"],
            ["Ready", "n"],
            ["Oldest", "n"],
            ["Processed", "n"],
          ],
          rows,
          "cards",
        ),
  );
}

async function loadAll(ctx, signal) {
  const range = withoutRange(ctx.params);
  const [overview, trend, series, history, queues, cluster] = await Promise.all([
    get("overview", {}, { signal }),
    ifAllowed("trend", () => get("trend", {}, { signal })),
    ifAllowed("series", () => loadSeries(ctx.params, {}, signal)),
    ifAllowed("history", () => get("history", { days: DAYS_USUAL, ...range }, { signal })),
    get("queues", { sort: "oldest", order: "desc", limit: 6 }, { signal }),
    ifAllowed("cluster", () => get("cluster", {}, { signal })),
  ]);
  noteHealth(overview.health);
  const options = await loadFirstRun(ctx, overview, signal);
  return { overview, trend, series, history, queues, cluster, options };
}

/** Without its engine a server tells nothing of jobs, but of the servers that share the log. */
async function loadCluster(error, signal) {
  if (error.status !== 503) throw error;
  const cluster = await get("cluster", {}, { signal }).catch(() => ({ cluster: null }));
  if (!cluster.cluster) throw error;
  const health = { level: "trouble", text: sentence(error.message) };
  noteHealth(health);
  return { overview: { health }, cluster };
}

const headline = ({ level, text }) =>
  h(
    "div",
    { class: "head" },
    h(
      "h1",
      { class: `health ${level}` },
      sign({ good: "✓", notice: "●", trouble: "▲" }[level]),
      text,
    ),
    helpLink(),
  );

export default {
  title: "Overview",
  load: (ctx, signal) => loadAll(ctx, signal).catch((error) => loadCluster(error, signal)),
  render(ctx, { overview, trend, series, history, queues, cluster, options }) {
    const { health } = overview;
    const { params } = ctx;
    if (!queues) return [headline(health), clusterSections(cluster)];
    const waits = worst(queues.queues.filter((each) => each.ready > 0));
    if (!trend) {
      return [
        headline(health),
        attention(overview),
        tiles(overview, null, {}),
        waits,
        h("p", { class: "dim" }, "Charts and workers need the right view for all queues."),
      ];
    }
    const speeds = speedsNow(trend.samples);
    return [
      headline(health),
      ctx.state.isFirstRun && options && firstRun(ctx, overview, options),
      attention(overview),
      tiles(overview, trend, speeds),
      chartSection(
        params,
        series,
        h(
          "div",
          { class: "pair" },
          speedChart(
            "server",
            "Jobs per second",
            // The shortest span has points every two seconds too.
            spanOf(params) === "15m" && !rangeOf(params)
              ? { ...speeds, since: series.finished_since, marks: series.marks }
              : speedsOf(series),
          ),
          lengthChart("server", "Queue latency", series, "wait"),
        ),
      ),
      h(
        "div",
        { class: "pair" },
        waits,
        readyChart("server", series),
      ),
      historyChart(Number(params.days ?? DAYS_USUAL), history.days, history.today, params),
      clusterSections(cluster),
    ];
  },
};
