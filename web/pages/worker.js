// One worker process: what it runs, has run, and needs.
import { get, nameOf, part, serverNow } from "../api.js";
import { h } from "../dom.js";
import { age, ago, bytes, count, none, rate } from "../format.js";
import { link } from "../route.js";
import { badge, button, empty, facts, head, queueLinks, table, workerName } from "../ui.js";
import * as completed from "./completed.js";
import { STATES, running, tell } from "./workers.js";

const JOBS_MAX = 50;
const COMPLETED_MAX = 10;

/** How many jobs it has run at once, on average. */
function concurrency({ busy_s: busy, started_at: since }) {
  const seconds = (serverNow() - Date.parse(since)) / 1000;
  return seconds > 0 ? `${(busy / seconds).toFixed(1)} jobs at once on average` : none();
}

function about(worker) {
  const more = worker.queue_count - worker.queues.length;
  return facts([
    ["wid", h("code", {}, worker.wid)],
    worker.labels.length > 0 && ["Labels", worker.labels.map((label) => badge(label))],
    [
      "Processed",
      [rate(worker.processed_per_s), ", ", count(worker.processed), " since it connected"],
    ],
    ["Failed", [rate(worker.failed_per_s), ", ", count(worker.failed), " since it connected"]],
    ["Utilization", concurrency(worker)],
    ["Memory", worker.rss_bytes ? bytes(worker.rss_bytes) : none()],
    ["Connected", [ago(worker.started_at), `, ${count(worker.connections)} open`]],
    ["Last heartbeat", ago(worker.last_beat_at)],
    [
      "Queues",
      worker.queues.length > 0
        ? [queueLinks(worker.queues), more > 0 && ` and ${count(more)} more`]
        : "none in the last minute",
    ],
  ]);
}

/** Null: no such worker is connected. */
const find = (wid, signal) =>
  get(`workers/${part(wid)}`, {}, { signal }).catch((error) => {
    if (error.status !== 404) throw error;
    return null;
  });

export default {
  title: "Worker",
  titleOf: ({ args: [wid] }, { worker } = {}) => (worker ? workerName(worker) : nameOf(wid)),
  async load({ args: [name] }, signal) {
    const wid = nameOf(name);
    const [worker, held, ended] = await Promise.all([
      find(wid, signal),
      get("jobs", { state: "reserved", wid, limit: JOBS_MAX }, { signal }),
      get("finished", { wid, limit: COMPLETED_MAX }, { signal }),
    ]);
    return { wid, worker, held, ended };
  },
  render(ctx, { wid, worker, held, ended }) {
    const { state } = worker ?? {};
    const act = (action, verb, isDone) =>
      button(`${verb}…`, () => tell(ctx, action, { wid }), {
        kind: action === "stop" ? "danger" : "",
        disabled: isDone,
        key: action,
      });
    const actions =
      worker && !ctx.isReadOnly
        ? [
            act("quiet", "Quiet", state !== "running"),
            h("span", { class: "gap" }),
            act("stop", "Stop", state === "stopping"),
          ]
        : [];
    return [
      h("p", { class: "crumbs" }, h("a", { href: link("workers") }, "Workers")),
      head(
        [
          workerName(worker ?? { wid }),
          " ",
          worker ? badge(state, ...STATES[state]) : badge("not connected", "dead", "✕"),
          worker?.stuck_since && badge("likely stuck", "dead", "▲"),
        ],
        ...actions,
      ),
      worker?.stuck_since &&
        h("p", { class: "bad" }, "No job has finished for ", age(worker.stuck_since), "."),
      worker ? about(worker) : h("p", {}, "No worker with this wid is connected."),
      running(held.jobs, held.jobs.length, wid),
      held.next && h("p", {}, h("a", { href: link("jobs", { state: "reserved", wid }) }, "More")),
      h("h2", {}, "Completed jobs"),
      ended.jobs.length === 0
        ? empty("No stored completed job ran on this worker.")
        : table("Completed jobs", completed.COLUMNS, ended.jobs.map(completed.row), "cards"),
      ended.next && h("p", {}, h("a", { href: link("completed", { wid }) }, "All completed jobs")),
    ];
  },
};
