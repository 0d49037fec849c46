import { get, part, post, serverNow } from "../api.js";
import { h } from "../dom.js";
import { ago, count, plural, short, shownTime } from "../format.js";
import { DONE, VERBS, askFor, changeAll } from "../operation.js";
import { link } from "../route.js";
import {
  STATES,
  act,
  askText,
  button,
  empty,
  figure,
  head,
  pager,
  progressOf,
  queueLink,
  stateBadge,
  table,
  workerLink,
} from "../ui.js";
import { write } from "../query.js";
import { filterOf, filters, isWrong, nameGroup, said } from "./job_filters.js";
import { story } from "../parts/outcomes.js";
import { findView, viewActions } from "./views.js";

const LIMIT = 50;
/** Of ended jobs with the same jid, so many are shown. */
const ENDED_MAX = 5;
/** A search over more slices than this is not updated automatically. */
const SLICES_STILL = 6;
/** Why jobs that were to be retried are left. */
const NOT_RETRIED = " (changed before, expired, or not unique)";

export function jobLink(job) {
  return h(
    "a",
    { class: "row", href: link(`jobs/${job.id}`) },
    h("span", { class: "type", title: job.type }, job.type || "(no type)"),
    h("span", { class: "id" }, ` ${job.id}`),
  );
}

/** Pushed jobs have a priority from 1 to 9. Others have any number; the smallest is first. */
export const priority = ({ is_pushed: isPushed, pri }) =>
  isPushed ? `${9 - Math.floor(pri / 256)} of 9` : count(pri);

const ESCAPES = /(?:\\u[\da-fA-F]{4})+|\\[^]/g;
const CODE = /\\u(....)/g;

/** Arguments with letters for their escapes, as a person reads them. They may be cut in an escape,
 * and those of a job that was put are any text: none of it may throw. */
const decoded = (text) =>
  text.replace(ESCAPES, (written) => {
    const read = written.replace(CODE, (_, digits) => String.fromCharCode(parseInt(digits, 16)));
    return /[\p{Cc}\p{Cf}\p{Cs}"\\]/u.test(read) ? written : read;
  });

export function args(job) {
  const text = decoded(job.args) + (job.is_cut ? "…" : "");
  return h("code", { title: text }, text);
}

/** Why a job with this error died. */
export function causeOfDeath({ type, message, retries_left: left }) {
  if (left === 0) return "out of retries";
  if (type !== "WorkerLost") return left < 0 ? "retries disabled" : "killed";
  const lost = Number(/^\d+/.exec(message)?.[0] ?? 1);
  return `retries skipped: ${plural(lost, "worker")} ${lost === 1 ? "was" : "were"} lost`;
}

/** "3 failures, 22 retries left". A dead job has none, whatever was left. */
export function failures({ state, error }) {
  const { failures: n, retries_left: left } = error;
  const retries = left > 0 ? plural(left, "retry", "retries") : "no retries";
  return `${plural(n, "failure")}, ${state === "dead" ? causeOfDeath(error) : `${retries} left`}`;
}

/** A dead job stays after its time, but the server does not make it ready again. */
export const hasExpired = ({ state, expires_at: end }) =>
  state === "dead" && end !== null && Date.parse(end) <= serverNow();
export const WHY_NO_RETRY = "Expired jobs cannot be retried.";

const stateOf = ({ state }) => state || "ready";
/** Ready jobs last: there may be millions, and a search is mostly for jobs that were started. */
const ANY = ["reserved", "retrying", "dead", "scheduled", "ready"];
const statesOf = (state) => (state === "any" ? ANY : [state]);
/** Dead and reserved jobs are listed latest first. */
const orderOf = (state) => (state === "dead" || state === "reserved" ? "desc" : "asc");

async function search({ params, state: memory, draw }, signal) {
  const state = stateOf(params);
  const filter = filterOf(params);
  const found = { jobs: [], next: null, looked: 0, all: 0, slices: 0 };
  if (isWrong(params)) return found;
  const isAny = state === "any";
  if (isAny && !params.cursor && Object.keys(filter).join() === "id") {
    const named = await get(`jids/${part(filter.id)}`, {}, { signal });
    const { jobs, finished, counts } = named;
    // Others, whose jids only begin so, are on the next page.
    if (jobs.length + finished.length > 0)
      return { ...found, jobs, finished, counts, next: `${ANY[0]}:`, isExact: true };
    found.finishedSince = named.finished_since;
  }
  const states = statesOf(state);
  let isFound = false;
  // With any state, the cursor begins with the state in which the page begins.
  const place = isAny && /^(\w+):(.*)/.exec(params.cursor);
  const [first, from] = states.includes(place?.[1]) ? place.slice(1) : [states[0], params.cursor];
  let passed = 0;
  for (const each of states.slice(states.indexOf(first))) {
    let cursor = each === first ? from : "";
    do {
      const page = await get(
        "jobs",
        { ...filter, state: each, order: orderOf(each), cursor, limit: LIMIT - found.jobs.length },
        { signal },
      );
      found.jobs.push(...page.jobs);
      found.next = page.next;
      found.counts = page.counts;
      found.looked += page.looked_at;
      found.all = Math.max(found.looked, passed + page.to_look_at);
      found.slices += 1;
      cursor = page.next;
      if (found.slices % 10 === 0) {
        const soFar = `${count(found.looked)} of ${plural(found.all, "job")}`;
        memory.progress = `Searched ${soFar}, ${count(found.jobs.length)} found…`;
        draw();
      }
      // For a whole jid the first job is enough. Others with that jid are on the next page.
      isFound = filter.id && page.jobs.some(({ jid }) => jid === filter.id);
    } while (cursor && found.jobs.length < LIMIT && !isFound);
    passed = found.looked;
    if (isAny) {
      const then = found.next === null ? states[states.indexOf(each) + 1] : each;
      found.next = then ? `${then}:${found.next ?? ""}` : null;
    }
    if (found.jobs.length >= LIMIT || isFound) break;
  }
  const { group } = params;
  const error = group && found.jobs.find((job) => job.error)?.error;
  if (error) nameGroup(group, error);
  found.isFirst = isFound && found.next !== null;
  memory.progress = null;
  memory.isLong = found.slices > SLICES_STILL;
  return found;
}

// ---- acting ----

/** The actions for jobs of a state. */
export const ACTIONS = {
  ready: ["move", "kill", "delete"],
  reserved: ["retry", "kill", "delete"],
  scheduled: ["retry", "move", "kill", "delete"],
  retrying: ["retry", "move", "kill", "delete"],
  dead: ["retry", "move", "delete"],
  any: [],
};
export const verbOf = (action, state) =>
  (action === "retry" && { scheduled: "Add to queue", reserved: "Release" }[state]) ||
  VERBS[action];

async function changeSelected(ctx, action) {
  const ids = [...ctx.state.selected];
  const state = stateOf(ctx.params);
  const held = state === "reserved";
  const verb = `${verbOf(action, state)} ${plural(ids.length, "job")}`;
  const more = await askFor(action, ids.length, verb, verb, held);
  if (!more) return;
  const result = await act(
    () => post("jobs/change", { action, ids, state, ...more }),
    ({ changed, gone, refused }) =>
      [
        `${plural(changed, "job")} ${action === "retry" ? "ready now" : DONE[action]}`,
        gone > 0 && `${count(gone)} already gone`,
        refused > 0 && `${count(refused)} unchanged${action === "retry" ? NOT_RETRIED : ""}`,
      ]
        .filter(Boolean)
        .join(", ") + ".",
  );
  if (result) {
    ctx.state.selected.clear();
    ctx.state.done = { action, n: result.changed };
  }
  ctx.refresh();
}

const exampleOf = (queue) =>
  JSON.stringify({ jobtype: "Example", queue: queue || "default", args: [1, "two"] }, null, 2);

export function pushDialog(ctx, queue, value = exampleOf(queue)) {
  return askText({
    title: "Push a job",
    hint: "Job as JSON: jobtype and args; optional queue, at, retry, priority, custom.",
    value,
    verb: "Push the job",
    send(text) {
      JSON.parse(text); // its error names the position
      return post("jobs", text);
    },
  }).then((pushed) => {
    if (!pushed) return;
    const { id } = pushed;
    act(async () => {}, () => ["Job ", h("a", { href: link(`jobs/${id}`) }, id), " was pushed."]);
    ctx.refresh();
  });
}

// ---- drawing ----

/** The states, and at last the jobs that are gone: `state` is "completed" then. */
export function tabs(params, state, counts) {
  const tab = (name) =>
    h(
      "a",
      {
        href: link("jobs", { ...params, cursor: "", state: name }),
        "aria-current": state === name ? "page" : null,
        class: name,
      },
      name === "any"
        ? "Any state"
        : [
            h("i", { "aria-hidden": "true" }, STATES[name].sign),
            ` ${STATES[name].name} `,
            counts && h("span", { class: "count" }, short(counts[name])),
          ],
    );
  return h(
    "nav",
    { class: "tabs", "aria-label": "States" },
    ["scheduled", "ready", "reserved", "retrying", "dead", "any"].map(tab),
    h(
      "a",
      {
        href: link("completed", { queue: params.queue, type: params.type }),
        "aria-current": state === "completed" ? "page" : null,
      },
      h("i", { "aria-hidden": "true" }, "✓"),
      " Completed",
    ),
  );
}

function selectionBar(ctx, state, jobs, isFiltered, counts) {
  const { selected } = ctx.state;
  const actions = ctx.isReadOnly ? [] : ACTIONS[state];
  if (actions.length === 0 || jobs.length + selected.size === 0) return null;
  // Workers are running these jobs, so there is no button that changes all of them.
  const isHeld = state === "reserved";
  const n = counts?.[state] ?? 0;
  const all = isFiltered ? "all that match" : n === 1 ? "the only one" : `all ${count(n)}`;
  const forAll = actions.filter(
    (action) => isFiltered || (action !== "kill" && action !== "delete"),
  );
  const run = (action) => () => changeSelected(ctx, action);
  const filter = filterOf(ctx.params);
  const those = `all ${STATES[state].name.toLowerCase()} jobs`;
  const runAll = (action) => () =>
    changeAll(
      action,
      { states: [state], ...filter, ...(filter.client ? { client: Number(filter.client) } : {}) },
      isFiltered ? `${those} with ${said(ctx.params)}` : those,
      ({ changed }, spread) => {
        ctx.state.done = { action, n: changed, spread };
        ctx.refresh();
      },
    );
  const kind = (action) => (action === "retry" || action === "move" ? "" : "danger");
  const expired = jobs.filter((job) => selected.has(job.id) && hasExpired(job));
  const isOver = (action) => action === "retry" && expired.length === selected.size;
  return h(
    "div",
    {
      class: selected.size > 0 ? "selection on" : "selection",
      role: "group",
      "aria-label": "Change jobs",
    },
    h(
      "span",
      { class: "said", role: "status" },
      selected.size > 0
        ? `${plural(selected.size, "job")} selected:`
        : isHeld
          ? "Select jobs to change them"
          : forAll.length === 0
            ? "Select jobs, or set a filter to change all that match"
            : "Select jobs, or change all:",
    ),
    selected.size === 0
      ? !isHeld &&
        forAll.map((action) =>
          button(`${verbOf(action, state)} ${all}…`, runAll(action), {
            kind: `${kind(action)} small`,
            key: `all-${action}`,
          }),
        )
      : [
          ...actions.map((action) =>
            button(`${verbOf(action, state)} ${count(selected.size)}`, run(action), {
              kind: `${kind(action)} small`,
              key: action,
              disabled: isOver(action),
              title: isOver(action) && WHY_NO_RETRY,
            }),
          ),
          button(
            "Clear selection",
            () => {
              selected.clear();
              ctx.draw();
            },
            { kind: "quiet small", key: "none", isLocal: true },
          ),
        ],
  );
}

const WHEN = {
  scheduled: "Due",
  retrying: "Next run",
  reserved: "Since",
  ready: "Enqueued",
  dead: "Dead since",
  any: "When",
};

function when(job) {
  if (job.state === "ready") return ago(job.enqueued_at);
  return ago(job.state === "reserved" ? job.reservation.since : job.when);
}

function select(ctx, jobs, isOn) {
  for (const { id } of jobs)
    if (isOn) ctx.state.selected.add(id);
    else ctx.state.selected.delete(id);
  ctx.draw();
}

/** With the shift key, everything from the last clicked row to this one. */
function toggle(ctx, jobs, job, { shiftKey, target }) {
  const at = jobs.indexOf(job);
  const last = shiftKey ? jobs.findIndex(({ id }) => id === ctx.state.last) : at;
  const from = last < 0 ? at : last;
  ctx.state.last = job.id;
  select(ctx, jobs.slice(Math.min(from, at), Math.max(from, at) + 1), target.checked);
}

function row(ctx, jobs, job, state, canSelect) {
  const { selected } = ctx.state;
  const { error } = job;
  return h(
    "tr",
    { "data-key": String(job.id), class: selected.has(job.id) ? "on" : null },
    canSelect &&
      h(
        "td",
        { class: "check" },
        h(
          "label",
          {},
          h("input", {
            type: "checkbox",
            checked: selected.has(job.id),
            onclick: (event) => toggle(ctx, jobs, job, event),
            "aria-label": `Select job ${job.id}`,
          }),
        ),
      ),
    h("td", { class: "job" }, jobLink(job), state === "any" && stateBadge(job.state)),
    h("td", { class: "queue" }, queueLink(job.queue)),
    h(
      "td",
      { class: "wide args" },
      error &&
        h(
          "div",
          { class: "error" },
          h("strong", {}, error.type),
          " ",
          h("span", { class: "message" }, error.message),
          " ",
          h("span", { class: "dim" }, `(${failures(job)})`),
        ),
      args(job),
      job.progress && h("div", { class: "told" }, progressOf(job.progress)),
      hasExpired(job) && h("div", { class: "dim" }, "expired ", ago(job.expires_at)),
      job.reservation &&
        h(
          "div",
          { class: "dim" },
          job.reservation.wid
            ? [
                "running on worker ",
                workerLink(job.reservation),
              ]
            : job.reservation.client
              ? `running on connection ${job.reservation.client}`
              : "running on an anonymous client",
          ", times out ",
          ago(job.reservation.until),
        ),
    ),
    figure(when(job)),
  );
}

const BECOME = { retry: "ready", kill: "dead" };

/** Where the jobs are that were here before the last change. */
function whereTo({ action, n, spread }, params) {
  const [who, are] = [plural(n, "job"), n === 1 ? "is" : "are"];
  const state = spread ? "scheduled" : BECOME[action];
  if (!state) return h("p", {}, `${who} ${n === 1 ? "was" : "were"} ${DONE[action]}.`);
  const to = link("jobs", { ...params, cursor: "", state });
  const now = spread ? `scheduled ${spread}` : `${state} now`;
  return h("p", {}, `${who} ${are} ${now}: `, h("a", { href: to }, `show ${state} jobs`));
}

function none(state, params, done, finishedSince) {
  if (isWrong(params)) return empty("“Older than” must be a duration like 90s, 30m, 2h or 7d.");
  const after = done?.n > 0 && whereTo(done, params);
  if (Object.keys(filterOf(params)).length > 0) {
    const [what, mayBeOver] =
      state === "any" ? ["", true] : [`${STATES[state].name.toLowerCase()} `, params.id];
    const ended = finishedSince && !/^\d+$/.test(params.id)
      ? ` No job with exactly this jid has ended since ${shownTime(Date.parse(finishedSince))}.`
      : "";
    const where = params.id ? ended : " Jobs that have ended are under Completed.";
    const note = mayBeOver && !after ? where : "";
    const words = { state: params.state, text: params.id };
    const inBodies =
      params.id &&
      h("p", {}, h("a", { href: link("jobs", words) }, `Search for “${params.id}” in bodies`));
    return empty(`No ${what}job matches.${note}`, after, inBodies);
  }
  const { name, says } = STATES[state];
  const how = state === "ready" ? " Push one here, or with any client." : "";
  return empty(
    `No ${name.toLowerCase()} jobs. A ${name.toLowerCase()} job ${says}.${how}`,
    after,
  );
}

export default {
  title: "Jobs",
  titleOf: ({ params }) => `${STATES[stateOf(params)]?.name ?? "All"} jobs`,
  isStill: ({ state, params }) =>
    state.isLong || (state.selected?.size > 0 && Boolean(params.cursor)),
  async load(ctx, signal) {
    const { view } = ctx.params;
    const saved = view ? findView(view, signal) : null;
    const found = await search(ctx, signal);
    return { ...found, view: await saved };
  },
  render(ctx, found) {
    const { params } = ctx;
    const state = stateOf(params);
    ctx.state.selected ??= new Set();
    const { jobs, next, counts } = found;
    const canSelect = !ctx.isReadOnly && ACTIONS[state].length > 0;
    const isFiltered = Object.keys(filterOf(params)).length > 0;
    const all = h("input", {
      type: "checkbox",
      checked: jobs.length > 0 && jobs.every(({ id }) => ctx.state.selected.has(id)),
      "aria-label": "Select all jobs of this page",
      onchange: (event) => select(ctx, jobs, event.target.checked),
    });
    const columns = [
      ...(canSelect ? [[h("label", { class: "check" }, all), "check"]] : []),
      ["Job"],
      ["Queue"],
      [state === "retrying" || state === "dead" ? "Error, arguments" : "Arguments", "wide"],
      [WHEN[state], "n"],
    ];
    return [
      head(
        "Jobs",
        viewActions(ctx, found.view, write({ ...params, state }), isFiltered),
        !ctx.isReadOnly &&
          button("Push a job…", () => pushDialog(ctx, params.queue), { kind: "plain" }),
      ),
      tabs(params, state, counts),
      filters(ctx, jobs),
      ctx.state.progress && h("p", { class: "progress", role: "status" }, ctx.state.progress),
      selectionBar(ctx, state, jobs, isFiltered, counts),
      jobs.length > 0
        ? table(
            `${STATES[state]?.name ?? "All"} jobs`,
            columns,
            jobs.map((each) => row(ctx, jobs, each, state, canSelect)),
            "stack",
          )
        : !found.isExact && none(state, params, ctx.state.done, found.finishedSince),
      found.finished
        ?.slice(0, ENDED_MAX)
        .map((each) => h("p", {}, jobLink(each), " · ", story(each))),
      found.finished?.length > ENDED_MAX &&
        h("p", { class: "dim" }, "Earlier jobs with this jid have ended too."),
      pager("jobs", params, found.isExact ? null : next, [
        isFiltered &&
          h(
            "span",
            { class: "dim" },
            found.isExact
              ? [
                  "Exact match. ",
                  h(
                    "a",
                    { href: link("jobs", { ...params, cursor: next }) },
                    "Also show jids with this prefix",
                  ),
                ]
              : `Searched ${plural(found.looked, "job")}. `,
            found.isFirst && "There may be more matches: see the next page.",
          ),
        ctx.state.isLong && button("Search again", ctx.refresh, { kind: "quiet" }),
      ]),
    ];
  },
};
