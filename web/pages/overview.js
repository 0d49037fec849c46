import { get } from "../api.js";
import { chart } from "../chart.js";
import { h } from "../dom.js";
import { age, count, plural, rate, sentence, short } from "../format.js";
import { noteHealth } from "../health.js";
import { clusterSections } from "../nodes.js";
import { link, replace } from "../route.js";
import { firstRun, loadFirstRun } from "./first_run.js";
import { STATES, figure, pausedBadge, queueLink, section, sign, table } from "../ui.js";

const DAYS = [7, 30, 90, 180];

const tile = (name, value, sub, href, kind) =>
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
  );

function tiles({ jobs, per_s: perSecond, totals, today }) {
  const state = (name, sub) =>
    tile(STATES[name].name, short(jobs[name]), sub, link("jobs", { state: name }), name);
  return h(
    "div",
    { class: "tiles" },
    tile(
      "Processed",
      rate(perSecond.processed),
      `${short(totals.processed)} total, ${short(today.processed)} today`,
    ),
    tile(
      "Failed",
      rate(perSecond.failed),
      `${short(totals.failed)} total, ${short(today.failed)} today`,
      link("errors"),
    ),
    tile("Enqueued", rate(perSecond.enqueued), `${short(totals.enqueued)} since the start`),
    state("ready", "waiting for a worker"),
    state("reserved", "running"),
    state("scheduled", "not due yet"),
    state("retrying", "will be retried"),
    state("dead", "out of retries"),
  );
}

/** Rates from the differences of the totals. */
function rates(samples) {
  const out = [[], [], [], []];
  for (let i = 1; i < samples.length; i += 1) {
    const [before, now] = [samples[i - 1], samples[i]];
    const seconds = (now[0] - before[0]) / 1000;
    out[0].push(now[0] / 1000);
    for (const k of [1, 2, 3]) out[k].push((now[k] - before[k]) / seconds);
  }
  return out;
}

function liveChart(samples) {
  const data = rates(samples);
  const minutes = Math.max(1, Math.round((samples.length * 2) / 60));
  const last = data.map((each) => each.at(-1) ?? 0);
  const words =
    `The last ${plural(minutes, "minute")}: processed ${rate(last[1])}, ` +
    `failed ${rate(last[2])}, enqueued ${rate(last[3])} now.`;
  return section(
    minutes === 1 ? "Last minute" : `Last ${minutes} minutes`,
    null,
    samples.length < 2
      ? h("p", { class: "empty" }, "The first points appear in a few seconds.")
      : chart(
          "live",
          {
            height: 190,
            format: rate,
            series: [
              { label: "Processed", color: "--good", fill: true },
              { label: "Failed", color: "--dead", dash: [4, 3] },
              { label: "Enqueued", color: "--ready" },
            ],
          },
          data,
          words,
        ),
  );
}

function historyChart(days, shown, today) {
  const byDay = new Map(shown.map((each) => [each.day, each]));
  const end = Date.parse(`${today}T00:00:00Z`);
  const data = [[], [], []];
  for (let i = days - 1; i >= 0; i -= 1) {
    const time = end - i * 86400000;
    const each = byDay.get(new Date(time).toISOString().slice(0, 10));
    data[0].push(time / 1000);
    data[1].push(each?.processed ?? 0);
    data[2].push(each?.failed ?? 0);
  }
  const total = (k) => data[k].reduce((sum, n) => sum + n, 0);
  const words =
    `The last ${days} days: ${count(total(1))} processed, ${count(total(2))} of them failed.`;
  const choice = (n) =>
    h(
      "a",
      {
        href: link("", { days: n === 30 ? "" : n }),
        "aria-current": n === days ? "true" : null,
        onclick: (event) => {
          event.preventDefault();
          replace(event.currentTarget.href);
        },
      },
      `${n} days`,
    );
  return section(
    "By day",
    h(
      "div",
      { class: "choices", role: "group", "aria-label": "Length of the history" },
      DAYS.map(choice),
    ),
    chart(
      `history${days}`,
      {
        height: 190,
        format: short,
        bars: true,
        series: [
          { label: "Processed", color: "--bar" },
          { label: "Failed", color: "--dead" },
        ],
      },
      data,
      words,
    ),
  );
}

function attention({ attention: all, attention_left_out: more, oldest_ready: oldest, jobs }) {
  const row = ({ level, kind, text, queue }) =>
    h(
      "li",
      { class: level, "data-key": `${kind}/${queue ?? ""}` },
      sign(level === "trouble" ? "▲" : "●"),
      h(
        "span",
        {},
        h("span", { class: "hidden" }, level === "trouble" ? "Trouble: " : "Notice: "),
        queue
          ? [queueLink(queue), ` ${text}.`]
          : kind === "failures"
            ? [h("a", { href: link("errors") }, text), "."]
            : `${text}.`,
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
          h("span", {}, `and ${plural(more, "more queue")} like these`),
        ),
    ),
  );
}

function worst(queues) {
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
      figure(rate(each.processed_per_s)),
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
  const { params } = ctx;
  const [overview, trend, history, queues, cluster] = await Promise.all([
    get("overview", {}, { signal }),
    get("trend", {}, { signal }),
    get("history", { days: 30, ...params }, { signal }),
    get("queues", { sort: "oldest", order: "desc", limit: 6 }, { signal }),
    get("cluster", {}, { signal }),
  ]);
  noteHealth(overview.health);
  const options = await loadFirstRun(ctx, overview, signal);
  return { overview, trend, history, queues, cluster, options };
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
    "h1",
    { class: `health ${level}` },
    sign({ good: "✓", notice: "●", trouble: "▲" }[level]),
    text,
  );

export default {
  title: "Overview",
  load: (ctx, signal) => loadAll(ctx, signal).catch((error) => loadCluster(error, signal)),
  render(ctx, { overview, trend, history, queues, cluster, options }) {
    const { health } = overview;
    const { params } = ctx;
    if (!trend) return [headline(health), clusterSections(cluster)];
    return [
      headline(health),
      ctx.state.isFirstRun && options && firstRun(ctx, overview, options),
      tiles(overview),
      h(
        "div",
        { class: "pair" },
        liveChart(trend.samples),
        historyChart(Number(params.days ?? 30), history.days, history.today),
      ),
      h(
        "div",
        { class: "pair" },
        attention(overview),
        worst(queues.queues.filter((each) => each.ready > 0)),
      ),
      clusterSections(cluster),
    ];
  },
};
