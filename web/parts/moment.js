// What happened in a queue within the interval whose point was clicked, as far as it is kept.
import { get } from "../api.js";
import { pinInAddress } from "../chart.js";
import { h } from "../dom.js";
import { count, plural, rate, shownTime, span } from "../format.js";
import { link } from "../route.js";
import { facts, section, workerLink } from "../ui.js";
import { nameOf, timesOf } from "./series.js";

const LIMIT = 200;
/** A page can be empty: it is what the server has looked through in one turn. */
const PAGES = 20;
const STATES = ["retrying", "dead"];

/** The first `LIMIT` jobs, and in `next` whether there are more. */
async function firstJobs(path, params, signal) {
  const all = await get(path, { ...params, limit: LIMIT }, { signal });
  for (let n = 1; n < PAGES && all.next !== null && all.jobs.length < LIMIT; n += 1) {
    const more = await get(path, { ...params, limit: LIMIT, cursor: all.next }, { signal });
    all.jobs.push(...more.jobs);
    all.next = more.next;
  }
  return all;
}

/** Null: no point of these charts was clicked. */
export async function loadMoment(queue, series, signal) {
  const pin = pinInAddress();
  const i = pin === null ? -1 : timesOf(series).indexOf(pin);
  if (i < 0) return null;
  const [since, until] = [(pin - series.interval_s) * 1000, pin * 1000];
  const within = (name) => ({ [`${name}_since_ms`]: since, [`${name}_until_ms`]: until });
  const failed = within("failed");
  const ended = within("ended");
  const [{ changes }, done, ...lists] = await Promise.all([
    get("activity", { since_ms: since, until_ms: until, limit: LIMIT }, { signal }),
    firstJobs("finished", { queue, ...ended }, signal),
    ...STATES.map((state) => firstJobs("jobs", { state, queue, ...failed }, signal)),
  ]);
  return { i, since, until, changes, done, lists, failed, ended };
}

/** How many have which key, the most frequent first: [[what, number]]. */
function counted(all, keyOf) {
  const sums = new Map();
  for (const each of all) {
    const key = keyOf(each);
    const known = sums.get(key);
    sums.set(key, [each, (known?.[1] ?? 0) + 1]);
  }
  return [...sums.values()].sort((a, b) => b[1] - a[1]);
}

const listed = (items, none) =>
  items.length === 0 ? none : items.map((each, i) => [i > 0 && ", ", each]);

const more = (known) => (known.length > 0 ? "and more" : "unknown");

function errors(queue, { lists, failed }) {
  const jobs = lists.flatMap((list, k) =>
    list.jobs.filter(({ error }) => error).map((job) => ({ ...job, state: STATES[k] })),
  );
  const links = counted(jobs, ({ error, state }) => `${state} ${error.type}`).map(([job, n]) =>
    h(
      "a",
      { href: link("jobs", { state: job.state, queue, error: job.error.type, ...failed }) },
      `${job.error.type} ${count(n)} (${job.state})`,
    ),
  );
  if (lists.some(({ next }) => next !== null)) links.push(more(links));
  return listed(links, "none of jobs that are still retrying or dead");
}

function workers({ done }) {
  const held = done.jobs.filter(({ wid }) => wid);
  const links = counted(held, ({ wid }) => wid).map(([job, n]) => [
    workerLink(job),
    ` ${plural(n, "job")}`,
  ]);
  if (done.next !== null) links.push(more(links));
  return listed(links, "none known");
}

const quantiles = (series, what, i) => {
  const [p50, p95] = [series[`${what}_p50_s`][i], series[`${what}_p95_s`][i]];
  return p50 === null ? "none" : `p50 ${span(p50)} · p95 ${span(p95)}`;
};

export function momentSection(queue, series, moment) {
  if (!moment) return null;
  const { i, since, until, changes } = moment;
  const speed = (name) =>
    series[name][i] === null ? "unknown" : rate(series[name][i] / series.interval_s);
  return section(
    `From ${shownTime(since)} to ${shownTime(until)}`,
    null,
    facts([
      ["Queue latency", quantiles(series, "wait", i)],
      ["Run time", quantiles(series, "run", i)],
      ["Enqueued", speed("enqueued")],
      ["Processed", speed("processed")],
      ["Failed", speed("failed")],
      ["Ready at the end", series.ready[i] === null ? "unknown" : count(series.ready[i])],
      ["Errors", errors(queue, moment)],
      ["Workers of completed jobs", workers(moment)],
      [
        "Changes",
        listed(
          changes.map((each) => `${shownTime(Date.parse(each.at))} ${nameOf(each)}`),
          "none",
        ),
      ],
    ]),
  );
}
