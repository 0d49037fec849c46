import { get, post, serverNow } from "../api.js";
import { h } from "../dom.js";
import { link } from "../route.js";
import { age, ago, bytes, count, none, plural, rate, span } from "../format.js";
import {
  act,
  acts,
  ask,
  badge,
  button,
  empty,
  figure,
  head,
  jobsLink,
  pager,
  progressOf,
  queueLink,
  queueLinks,
  table,
  workerLink,
} from "../ui.js";
import { jobLink } from "./jobs.js";
import { namesOf } from "../parts/served.js";

const LIMIT = 100;
const JOBS_MAX = 20;
const WORDS = {
  quiet: [
    "Quiet",
    "It finishes its jobs and fetches no new ones. Only a restart of the worker undoes this.",
  ],
  stop: ["Stop", "It shuts down. Unfinished jobs return to their queues."],
};

export async function tell(ctx, action, who, n = 1) {
  const [verb, means] = WORDS[action];
  const all = n === 1 ? "the only worker" : `all ${plural(n, "worker")}`;
  const agreed = await ask({
    title: `${verb} ${who.wid ? `worker ${who.wid}` : all}?`,
    text: means.replace("It ", n === 1 ? "It " : "Each "),
    verb: `${verb} ${plural(n, "worker")}`,
  });
  if (!agreed) return;
  await act(
    () => post(`workers/${action}`, who),
    ({ told }) => `${plural(told, "worker")} will be told at the next heartbeat.`,
  );
  ctx.refresh();
}

export const STATES = {
  running: ["reserved", "▶"],
  quiet: ["scheduled", "◐"],
  stopping: ["retrying", "■"],
};

function worker(ctx, each) {
  const { wid, state } = each;
  const act1 = (action, text, disabled) =>
    button(text, () => tell(ctx, action, { wid }), {
      kind: action === "stop" ? "small danger" : "small",
      disabled,
      label: `${text} worker ${wid}`,
      key: action,
    });
  return h(
    "tr",
    { "data-key": wid },
    h(
      "td",
      { class: "wide" },
      h("strong", {}, workerLink(each)),
      " ",
      each.labels.map((label) => badge(label)),
      each.stuck_since && badge("likely stuck", "dead", "▲"),
      h("div", { class: "dim" }, wid),
      each.stuck_since &&
        h(
          "div",
          { class: "bad" },
          `${plural(each.jobs, "job")}, none finished for `,
          age(each.stuck_since),
        ),
      each.queues.length > 0 && h("div", { class: "dim" }, `Queues: ${namesOf(each)}`),
    ),
    h("td", {}, badge(state, ...STATES[state])),
    figure(
      jobsLink(each.jobs, { state: "reserved", wid }, "job", ` reserved by ${wid}`),
    ),
    figure(rate(each.processed_per_s)),
    figure(each.rss_bytes ? bytes(each.rss_bytes) : none()),
    figure(count(each.connections)),
    figure(ago(each.started_at)),
    figure(ago(each.last_beat_at)),
    acts(
      ctx,
      act1("quiet", "Quiet", state !== "running"),
      act1("stop", "Stop", state === "stopping"),
    ),
  );
}

function runningJob(job) {
  const { reservation } = job;
  const { wid, client, since, usual_run_s: usual } = reservation;
  const isLong = usual !== null && serverNow() - Date.parse(since) > usual * 1000;
  return h(
    "tr",
    { "data-key": String(job.id) },
    h("td", {}, jobLink(job)),
    h("td", {}, queueLink(job.queue)),
    h(
      "td",
      { class: "line" },
      wid ? workerLink(reservation) : client ? `connection ${client}` : "an anonymous client",
    ),
    h("td", { class: "wide" }, progressOf(job.progress) ?? none()),
    figure(
      h("span", { class: isLong ? "bad" : "" }, ago(since)),
      isLong && h("span", { class: "hidden" }, ", longer than usual"),
    ),
    figure(usual === null ? none() : `≤ ${span(usual)}`),
  );
}

const RUNNING = [
  ["Job"],
  ["Queue"],
  ["Held by"],
  ["Progress", "wide"],
  ["Since", "n"],
  ["Usual run", "n"],
];

/** The jobs whose reservations run out first, of `n`; `wid`: of one worker. */
export const running = (jobs, n, wid) => [
  h("h2", {}, "Running jobs ", h("span", { class: "count" }, count(n))),
  jobs.length === 0
    ? empty("No job is running.")
    : table("Running jobs", RUNNING, jobs.map(runningJob), "cards"),
  n > jobs.length &&
    h("p", {}, h("a", { href: link("jobs", { state: "reserved", wid }) }, "All running jobs")),
];

function connection(each) {
  const more = each.watched_count - each.watched.length;
  return h(
    "tr",
    { "data-key": String(each.client) },
    figure(String(each.client)),
    h("td", {}, each.used ? queueLink(each.used) : null),
    h(
      "td",
      { class: "wide list" },
      queueLinks(each.watched),
      more > 0 && ` and ${count(more)} more`,
    ),
    h("td", {}, each.is_waiting ? badge("waiting for a job", "scheduled", "◷") : none()),
    figure(
      jobsLink(
        each.jobs,
        { state: "reserved", client: each.client },
        `jobs held by connection ${each.client}`,
      ),
    ),
  );
}

export default {
  title: "Workers",
  async load({ params: { after, connections, ...more } }, signal) {
    const [workers, stuck, held, others] = await Promise.all([
      get("workers", { ...more, limit: LIMIT, cursor: after }, { signal }),
      after ? { workers: [] } : get("workers", { stuck: 1, limit: LIMIT }, { signal }),
      get("jobs", { state: "reserved", limit: JOBS_MAX }, { signal }),
      get("connections", { limit: LIMIT, cursor: connections }, { signal }),
    ]);
    // Those that are likely stuck come first.
    const first = new Set(stuck.workers.map(({ wid }) => wid));
    const rest = workers.workers.filter(({ wid }) => !first.has(wid));
    return { workers: { ...workers, workers: [...stuck.workers, ...rest] }, held, others };
  },
  render(ctx, { workers, held, others }) {
    const { params } = ctx;
    const { total, as_of } = workers;
    const everyone = { all: true, as_of };
    const all =
      !ctx.isReadOnly && total > 0
        ? [
            button("Quiet all…", () => tell(ctx, "quiet", everyone, total), { key: "quiet" }),
            h("span", { class: "gap" }),
            button("Stop all…", () => tell(ctx, "stop", everyone, total), {
              kind: "danger",
              key: "stop",
            }),
          ]
        : [];
    return [
      head(["Workers ", h("span", { class: "count" }, count(total))], ...all),
      workers.workers.length === 0
        ? empty(
            total > 0
              ? "No more workers."
              : "No Faktory worker is connected. A worker is a client that sends a wid in HELLO.",
          )
        : table(
            "Worker processes",
            [
              ["Process", "wide"],
              ["State"],
              ["Jobs", "n"],
              ["Processed", "n"],
              ["Memory", "n"],
              ["Connections", "n"],
              ["Started", "n"],
              ["Heartbeat", "n"],
              ["", "acts"],
            ],
            workers.workers.map((each) => worker(ctx, each)),
            "cards",
          ),
      !workers.are_jobs_counted &&
        h(
          "p",
          { class: "dim" },
          "There are too many reserved jobs to count: a worker may have more than shown.",
        ),
      pager("workers", params, workers.next, null, "after"),
      running(held.jobs, held.counts.reserved),
      h("h2", {}, "beanstalk connections ", h("span", { class: "count" }, count(others.total))),
      others.connections.length === 0
        ? empty(others.total > 0 ? "No more connections." : "No beanstalk client is connected.")
        : table(
            "beanstalk connections",
            [["Number", "n"], ["Uses"], ["Watches", "wide"], ["Now"], ["Jobs held", "n"]],
            others.connections.map(connection),
            "cards",
          ),
      pager("workers", params, others.next, null, "connections"),
    ];
  },
};
