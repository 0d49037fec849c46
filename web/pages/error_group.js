// One error: how many jobs have it, of which queues and types, and what happened to the latest.
import { get } from "../api.js";
import { add } from "../breakdown.js";
import { h } from "../dom.js";
import { ago, count, none, plural } from "../format.js";
import { DONE, VERBS, changeAll } from "../operation.js";
import { link } from "../route.js";
import {
  STATES as NAMES,
  badge,
  button,
  empty,
  figure,
  head,
  jobIn,
  jobsLink,
  queueLink,
  section,
  stateBadge,
  table,
} from "../ui.js";
import { chartSection, failuresChart, loadSeries } from "../parts/series.js";
import { outcomeBadge } from "../parts/outcomes.js";
import { attempts, backtrace } from "../parts/attempts.js";
import { nameGroup } from "./job_filters.js";
import { editNote, mute, mutedBadge, noteOf, unmute } from "../parts/error_marks.js";
import { AGAIN } from "./errors.js";
import { args, jobLink } from "./jobs.js";

/** For so long jobs are counted. */
const COUNT_MS = 3000;
const STATES = ["dead", "retrying"];
/** So many queues and types are shown. */
const NAMES_MAX = 20;

/**
 * Counts the jobs of the group in one state, as far as there is time, and those that failed last by
 * queue and type. True: all were counted.
 */
async function countState(state, query, sums, goesOn, signal) {
  let cursor = "";
  const breakdown = STATES.includes(state) ? 1 : null;
  sums.states[state] = 0;
  do {
    const slice = await get("jobs/count", { ...query, state, cursor, breakdown }, { signal });
    sums.states[state] += slice.matched;
    if (breakdown) {
      add(sums.queues, slice.queues);
      add(sums.types, slice.types);
    }
    cursor = slice.next;
  } while (cursor && goesOn());
  return cursor === null;
}

/** The latest job of the group in this state; undefined: none was found. */
async function latest(state, query, goesOn, signal) {
  let cursor = "";
  do {
    const page = await get(
      "jobs",
      { ...query, state, order: "desc", limit: 1, cursor },
      { signal },
    );
    if (page.jobs.length > 0) return page.jobs[0];
    cursor = page.next;
  } while (cursor && goesOn());
  return undefined;
}

async function load({ args: [group], params, state: memory }, signal) {
  const query = { group, type: params.type };
  const before = memory.mark;
  const mark = await get(`errors/${group}`, {}, { signal }).catch((error) => {
    if (error.status === 404) return null;
    throw error;
  });
  // Somebody may have changed it here meanwhile.
  if (memory.mark === before) memory.mark = mark;
  const series = loadSeries(params, { group }, signal);
  series.catch(() => {}); // told where it is awaited, unless something else fails first
  const end = performance.now() + COUNT_MS;
  const goesOn = () => performance.now() < end;
  const sums = { states: {}, queues: new Map(), types: new Map() };
  let isThrough = true;
  for (const state of params.type ? [...STATES, ...AGAIN] : STATES)
    isThrough = (await countState(state, query, sums, goesOn, signal)) && isThrough;
  if (!params.type) for (const state of AGAIN) sums.states[state] = mark?.[state] ?? 0;
  // One that has failed last, or else one that was retried: it says what the error is.
  const of = (state) => sums.states[state] > 0 && latest(state, query, goesOn, signal);
  let jobs = (await Promise.all(STATES.map(of))).filter(Boolean);
  if (jobs.length === 0) jobs = (await Promise.all(AGAIN.map(of))).filter(Boolean);
  const [newest] = jobs
    .sort((a, b) => Date.parse(b.enqueued_at) - Date.parse(a.enqueued_at));
  // It may have left the group meanwhile.
  const job = newest && (await get(`jobs/${newest.id}`, {}, { signal }).catch(() => null));
  // The last one may have ended: one without retries has then no job.
  const ended =
    jobs.length === 0 && mark?.sample
      ? await get(`finished/${mark.sample}`, {}, { signal }).catch(() => null)
      : null;
  const recorded = await series;
  const error = job?.error ?? null;
  // For when no job has it any more. The server remembers what has occurred lately.
  if (error || recorded.type) memory.error = error ?? recorded;
  if (memory.error) nameGroup(group, memory.error);
  return { ...sums, isThrough, job: error ? { ...newest, ...job } : null, ended, series: recorded };
}

/** When the error occurred, in jobs that have since run well too. */
const chartOf = (params, group, series) =>
  chartSection(
    params,
    series,
    series.is_recorded
      ? failuresChart(`error ${group}`, series, { group })
      : h("p", { class: "empty" }, "No failure times were recorded for this error."),
  );

/** How many jobs have which name, the most frequent first. */
function names(title, sums, show) {
  const sorted = [...sums].sort((a, b) => b[1] - a[1]);
  const line = ([name, n]) =>
    h("tr", { "data-key": name }, h("td", { class: "wide" }, show(name)), figure(count(n)));
  const rows = sorted.slice(0, NAMES_MAX).map(line);
  return section(
    `By ${title.toLowerCase()}`,
    null,
    table(`Jobs by ${title.toLowerCase()}`, [[title, "wide"], ["Jobs", "n"]], rows),
    sorted.length > NAMES_MAX &&
      h("p", { class: "dim" }, `${count(sorted.length - NAMES_MAX)} more`),
  );
}

function sample(job) {
  const { error } = job;
  const failedAt = job.attempts.at(-1)?.ended_at;
  return section(
    "Newest failed job",
    null,
    h("p", {}, jobLink(job), " ", stateBadge(job.state), failedAt && [" failed ", ago(failedAt)]),
    job.args && h("p", { class: "args" }, args(job)),
    backtrace(error),
  );
}

/** Of a job that has ended with it, what is still known. */
const endedSample = (job) =>
  section(
    "Last failed job",
    null,
    h(
      "p",
      {},
      jobLink(job),
      " of ",
      queueLink(job.queue),
      " ",
      outcomeBadge(job.outcome),
      " ",
      ago(job.ended_at),
    ),
    job.args && h("p", { class: "args" }, args({ args: job.args })),
  );

/** "12 ready, 1 running": the jobs that were retried and have not ended; null: there are none. */
function retried(states, query, atLeast) {
  const left = AGAIN.filter((state) => states[state] > 0);
  const shown = left.map((state, i) => [
    i > 0 && ", ",
    atLeast,
    jobsLink(states[state], { state, ...query }, jobIn(state), " that was retried"),
    ` ${NAMES[state].name.toLowerCase()}`,
  ]);
  return left.length > 0 ? shown : null;
}

/** The buttons that mute the error and edit its note. */
function marking({ state, isReadOnly, draw }) {
  const { mark } = state;
  if (!mark || isReadOnly) return [];
  const then = (changed) => {
    state.mark = changed;
    draw();
  };
  const of = (text, change) => button(text, () => change(mark, then), { kind: "quiet", key: text });
  return [
    mark.muted ? of("Unmute", unmute) : of("Mute", mute),
    of(mark.note ? "Edit note" : "Add note", editNote),
  ];
}

/** When it was, and what people say of it. */
const seen = (mark) =>
  mark && [
    mark.last_at &&
      h(
        "p",
        { class: "dim" },
        mark.first_at && ["First seen ", ago(mark.first_at), ", last "],
        !mark.first_at && "Last seen ",
        ago(mark.last_at),
      ),
    noteOf(mark),
  ];

/** No job is dead or retrying with it. */
function nothing({ params: { type }, state: { done } }, group, error, again) {
  const unknown = error ? "" : " No recent failures recorded.";
  return empty(
    `No dead or retrying ${type ? `jobs of type ${type}` : "jobs"} with this error.${unknown}`,
    done && h("p", {}, done),
    again && h("p", {}, "Retried, not finished: ", again, "."),
  );
}

export default {
  title: "Error",
  titleOf: ({ state }) => state.error?.type ?? "Error",
  load,
  render(ctx, { states, queues, types, isThrough, job, ended, series }) {
    const [group] = ctx.args;
    const { type } = ctx.params;
    const { mark } = ctx.state;
    const atLeast = isThrough ? "" : "at least ";
    const total = states.dead + states.retrying;
    const { error, done } = ctx.state;
    const crumbs = h("p", { class: "crumbs" }, h("a", { href: link("errors") }, "Errors"));
    const name = h("span", { class: "type" }, error?.type ?? "Error");
    const said = error && h("p", { class: "message" }, error.message);
    const chip =
      type &&
      h(
        "p",
        {},
        h(
          "a",
          { class: "chip", href: link(`errors/${group}`) },
          h("span", {}, `Type: ${type}`),
          h("span", { "aria-label": "remove" }, " ✕"),
        ),
      );
    const title = (...badges) => [name, ...badges, mark && [" ", mutedBadge(mark)]];
    if (total === 0)
      return [
        crumbs,
        head(title(), ...marking(ctx)),
        said,
        seen(mark),
        chip,
        nothing(ctx, group, error, retried(states, { group, type }, type && atLeast)),
        chartOf(ctx.params, group, series),
        job && sample(job),
        job && attempts(job),
        ended && endedSample(ended),
        ended && attempts(ended),
      ];
    const again = retried(states, { group, type }, type && atLeast);
    const those = { states: ["retrying", "dead"], group, ...(type && { type }) };
    const of = type ? ` of type ${type}` : "";
    const what = `all failed jobs${of} with ${error?.type ?? "this error"}`;
    const after = (action) => ({ changed }, spread) => {
      const how = spread ? `scheduled ${spread}` : DONE[action];
      ctx.state.done = `${plural(changed, "job")} ${changed === 1 ? "was" : "were"} ${how}.`;
      ctx.refresh();
    };
    const act = (action, kind) =>
      !ctx.isReadOnly &&
      button(`${VERBS[action]} all`, () => changeAll(action, those, what, after(action)), { kind });
    const jobs = (state) =>
      jobsLink(states[state], { state, group, type }, jobIn(state), ` with this error`);
    return [
      crumbs,
      head(
        title(" ", badge(`${atLeast}${plural(total, "job")}`)),
        ...marking(ctx),
        act("retry", "primary"),
        act("delete", "danger"),
      ),
      said,
      seen(mark),
      done && h("p", { role: "status" }, done),
      h("p", {}, atLeast, jobs("dead"), " dead, ", atLeast, jobs("retrying"), " retrying", [
        again && [". Retried, not finished: ", again],
      ]),
      chip,
      chartOf(ctx.params, group, series),
      h(
        "div",
        { class: "pair" },
        names("Type", types, (name) =>
          name ? h("a", { href: link(`errors/${group}`, { type: name }) }, name) : none(),
        ),
        names("Queue", queues, queueLink),
      ),
      job && sample(job),
      job && attempts(job),
    ];
  },
};
