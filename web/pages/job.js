import { get, part, post, serverNow, url } from "../api.js";
import { h } from "../dom.js";
import { ago, bytes, count, plural, span } from "../format.js";
import { askFor } from "../operation.js";
import { link } from "../route.js";
import {
  STATES,
  act,
  ask,
  button,
  facts,
  head,
  cronLink,
  progressOf,
  queueLink,
  section,
  stateBadge,
  workerLink,
} from "../ui.js";
import { lastChange } from "../parts/actions.js";
import { attemptStep, backtrace } from "../parts/attempts.js";
import { lifeBar, timeline } from "../parts/story.js";
import * as finished from "./finished_job.js";
import { batchOf } from "./batches.js";
import { againFacts, loadAgain } from "../parts/again.js";
import { asNew, copyButton, curlOf } from "../parts/copies.js";
import { nameGroup } from "./job_filters.js";
import {
  ACTIONS,
  WHY_NO_RETRY,
  causeOfDeath,
  failures,
  hasExpired,
  priority,
  pushDialog,
  verbOf,
} from "./jobs.js";

const NODES_MAX = 3000;
const DEPTH_MAX = 100;
/** Texts of more characters are folded, lists of more entries are shown in parts. */
const LONG_TEXT = 1000;
const LONG_TEXT_BEGINNING = 200;
const LONG_LIST = 50;
const HEX_BYTES_MAX = 16 * 1024;

// ---- history ----

/** "3 runs so far: timed out once, released once" */
function soFar({ reserves, timeouts, releases, buries, kicks }) {
  const said = Object.entries({
    "timed out": timeouts,
    released: releases,
    "buried or killed": buries,
    "kicked or retried by hand": kicks,
  })
    .filter(([, n]) => n > 0)
    .map(([what, n]) => `${what} ${n === 1 ? "once" : `${count(n)} times`}`);
  const runs = reserves === 0 ? "No run" : plural(reserves, "run");
  return `${runs} so far${said.length > 0 ? ": " : ""}${said.join(", ")}.`;
}

/** Its run of now; null: there is none. */
const running = ({ reservation }) =>
  reservation && { kind: "ran", from: Date.parse(reservation.since), to: serverNow() };

/** What a ready job waits for. */
function hold({ held_up: held }) {
  if (!held) return "for a worker";
  if (held.reason === "throttled")
    return [
      // A limit of its type or its key says so.
      !/^(type|key) /.test(held.throttled) && "its queue is ",
      h("a", { href: link("throttles") }, "throttled"),
      `: ${held.throttled}`,
    ];
  return ["its queue is paused", held.until && [", which ends ", ago(held.until)]];
}

/** The known events of a job, in order. Of runs that ended well and were no last ones, none is. */
function story(job) {
  const { error, state, reservation } = job;
  const steps = [
    [
      job.created_at,
      "Created",
      job.is_pushed ? "pushed by a Faktory client" : "put by a beanstalk client",
    ],
  ];
  if (job.work_unit?.at && state !== "scheduled")
    steps.push([job.work_unit.at, "Was due", "as its client had scheduled it"]);
  // The last ten attempts are kept.
  if (error && !job.attempts.some((each) => each.ended_at === error.first_at))
    steps.push([error.first_at, "First failure", `${count(error.failures)} in total`]);
  steps.push(...job.attempts.map(attemptStep));
  if (job.enqueued_at && Math.abs(Date.parse(job.enqueued_at) - Date.parse(job.created_at)) > 5)
    steps.push([
      job.enqueued_at,
      "Entered its queue",
      null,
    ]);
  if (reservation)
    steps.push([
      reservation.since,
      "Reserved",
      reservation.wid
        ? ["by worker ", workerLink(reservation)]
        : reservation.client
          ? `by connection ${reservation.client}`
          : "by an anonymous client",
    ]);
  if (state === "dead")
    steps.push([
      job.when,
      "Died",
      error
        ? causeOfDeath(error)
        : job.is_pushed ? "killed" : "buried or killed",
    ]);
  steps.sort((a, b) => Date.parse(a[0]) - Date.parse(b[0]));
  if (state === "ready") steps.push([null, "Waiting", hold(job)]);
  if (state === "reserved")
    steps.push([job.when, "Reservation expires", "unless the worker reports first"]);
  if (state === "scheduled") steps.push([job.when, "Due", null]);
  const why = error && [failures(job), error.next_why].filter(Boolean).join(" · ");
  if (state === "retrying") steps.push([job.when, "Next retry", why]);
  return steps;
}

// ---- arguments ----

const TOKEN = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g;

/**
 * JSON with its numbers exactly as written, even those that JavaScript cannot represent. Numbers
 * become strings that begin with "n"; strings and member names begin with "s".
 */
const parseExactly = (text) =>
  JSON.parse(text.replace(TOKEN, (it) => (it[0] === '"' ? `"s${it.slice(1)}` : `"n${it}"`)));

/** The inverse: the JSON text of such a value. */
const write = (value, indent) =>
  JSON.stringify(value, null, indent).replace(TOKEN, (it) =>
    it[1] === "n" ? it.slice(2, -1) : `"${it.slice(2)}`,
  );

/** A text; of a long one the beginning, until it is unfolded. */
function foldable(text, kind = "") {
  if (text.length <= LONG_TEXT) return h("span", { class: kind }, text);
  return h(
    "details",
    { class: "long" },
    h(
      "summary",
      {},
      h("span", { class: kind }, `${text.slice(0, LONG_TEXT_BEGINNING)}…`),
      h("span", { class: "dim" }, ` ${count(text.length)} characters`),
    ),
    h("span", { class: kind }, text),
  );
}

function leaf(value) {
  const kind = value?.[0] === "n" ? "number" : value?.[0] === "s" ? "string" : String(value);
  return foldable(write(value), `json ${kind}`);
}

function tree(value, name, budget, depth = 0) {
  const label = name === null ? null : [h("span", { class: "json key" }, name), ": "];
  budget.left -= 1;
  if (budget.left < 0) return h("div", { class: "dim" }, "…");
  if (value === null || typeof value !== "object") return h("div", {}, label, leaf(value));
  if (depth >= DEPTH_MAX) return h("div", {}, label, "… see Text");
  const isList = Array.isArray(value);
  const entries = isList
    ? value.map((each, i) => [String(i), each])
    : Object.entries(value).map(([key, each]) => [key.slice(1), each]);
  if (entries.length === 0) return h("div", {}, label, isList ? "[]" : "{}");
  const size = isList ? plural(entries.length, "item") : plural(entries.length, "member");
  const draw = ([key, each]) => tree(each, key, budget, depth + 1);
  const rest = entries.slice(LONG_LIST, NODES_MAX);
  return h(
    "details",
    { open: depth < 2 },
    h(
      "summary",
      {},
      label,
      isList ? "[ " : "{ ",
      h("span", { class: "dim" }, size),
      isList ? " ]" : " }",
    ),
    h(
      "div",
      { class: "nested" },
      entries.slice(0, LONG_LIST).map(draw),
      rest.length > 0 &&
        h(
          "details",
          {},
          h("summary", { class: "dim" }, `${count(entries.length - LONG_LIST)} more`),
          rest.map(draw),
        ),
    ),
  );
}

function hexDump(raw) {
  const width = matchMedia("(max-width: 40rem)").matches ? 8 : 16;
  const lines = [];
  for (let at = 0; at < Math.min(raw.length, HEX_BYTES_MAX); at += width) {
    const line = [...raw.slice(at, at + width)];
    const hex = line
      .map((each) => each.toString(16).padStart(2, "0"))
      .join(" ")
      .padEnd(3 * width - 1);
    const text = line
      .map((each) => (each >= 32 && each < 127 ? String.fromCharCode(each) : "."))
      .join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${hex}  ${text}`);
  }
  if (raw.length > HEX_BYTES_MAX) lines.push("…");
  return lines.join("\n");
}

const bytesOf = ({ text, base64 }) =>
  base64 === null
    ? new TextEncoder().encode(text)
    : Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

function parse(text) {
  try {
    JSON.parse(text);
    return parseExactly(text);
  } catch {
    return null;
  }
}

/** The views of the content: [name, function that draws it]. */
function views(job) {
  const found = [];
  const { body } = job;
  const unit = job.exact.swork_unit;
  const add = (name, draw) => found.push([name, draw]);
  const json = !unit && body?.text ? parse(body.text) : null;
  if (unit) {
    add("Arguments", () => tree(unit.sargs ?? [], null, { left: NODES_MAX }));
    add("Whole job", () => tree(unit, null, { left: NODES_MAX }));
  } else if (json && typeof json === "object")
    add("JSON", () => tree(json, null, { left: NODES_MAX }));
  if (body?.is_text)
    add("Text", () =>
      h("pre", {}, job.is_pushed && unit ? write(unit, 2) : body.text || "(empty)"),
    );
  if (body) add("Hex", () => h("pre", { class: "hex" }, hexDump(bytesOf(body)) || "(empty)"));
  return found;
}

function content(ctx, job) {
  const all = views(job);
  const chosen = all.find(([name]) => name === ctx.state.view) ?? all[0];
  const choose = (name) =>
    button(
      name,
      () => {
        ctx.state.view = name;
        ctx.draw();
      },
      { kind: chosen?.[0] === name ? "small on" : "small plain", key: name, isLocal: true },
    );
  return section(
    job.work_unit ? "Arguments" : "Body",
    h(
      "div",
      { class: "actions" },
      all.length > 1 && all.map(([name]) => choose(name)),
      job.is_pushed &&
        job.work_unit &&
        copyButton("Copy as curl", "Command", () => curlOf(write(asNew(job.exact.swork_unit)))),
      !job.is_body_unreadable &&
        h(
          "a",
          { href: url(`jobs/${job.id}/body`), download: `job-${job.id}` },
          `Download ${bytes(job.body_bytes)}`,
        ),
    ),
    chosen
      ? h(
          "div",
          {
            class: "content",
            tabindex: "0",
            role: "region",
            "aria-label": "Content of the job",
            "data-key": chosen[0],
          },
          chosen[1](),
        )
      : h(
          "p",
          { class: "empty" },
          job.is_body_unreadable
            ? "The body could not be read from the journal."
            : "Too large to show. Download it instead.",
        ),
    job.body?.is_cut && h("p", { class: "dim" }, "Only its beginning is shown."),
  );
}

function failure(job) {
  const { error } = job;
  if (!error) return null;
  nameGroup(error.group, error);
  return section(
    "Error",
    null,
    h("p", { class: "error" }, h("strong", {}, error.type), " ", foldable(error.message)),
    h(
      "p",
      { class: "dim" },
      `${failures(job)} · `,
      h("a", { href: link("jobs", { state: "dead", group: error.group }) }, "dead"),
      " and ",
      h("a", { href: link("jobs", { state: "retrying", group: error.group }) }, "retrying"),
      " jobs with the same error",
    ),
    backtrace(error),
  );
}

// ---- what its client asked for ----

const LOCKED_UNTIL = { start: "starts", success: "has ended" };

async function freeLock(ctx, { id, type, queue }) {
  const agreed = await ask({
    title: `Free the lock of ${type} ${id} of ${queue}?`,
    text: "The same job can then be pushed again, and may run at the same time as this one.",
    verb: "Free the lock",
  });
  if (!agreed) return;
  await act(() => post(`locks/${part(id)}/free`), `The lock of job ${id} is free.`);
  ctx.refresh();
}

function lock(ctx, job) {
  const { is_held: isHeld, until, ends_with: end } = job.lock;
  if (!isHeld || Date.parse(until) <= serverNow())
    return "its lock has ended: the same job can be pushed again";
  return [
    `locked until it ${LOCKED_UNTIL[end]}, at the latest `,
    ago(until),
    h("div", { class: "dim" }, "jobs with its type, arguments and queue are refused"),
    ctx.mayOperate(job.queue) && button("Free lock…", () => freeLock(ctx, job), { kind: "quiet" }),
  ];
}

function whenOver(job) {
  if (hasExpired(job)) return "it cannot be retried any more";
  if (job.state === "dead") return "it cannot be retried after that";
  if (job.state === "reserved") return "it is not tried again after that";
  return "it is removed then, unless a worker has fetched it";
}

const expiry = (job) => [ago(job.expires_at), h("div", { class: "dim" }, whenOver(job))];

// ---- acting ----

const SAID = {
  retry: "is ready now.",
  move: "is moved.",
  kill: "is dead now.",
  delete: "is deleted.",
};

async function change(ctx, job, action) {
  const held = job.state === "reserved";
  const verb = verbOf(action, job.state);
  const title = `${verb} ${job.type} ${job.id} of ${job.queue}`;
  const isAsked = held || action !== "retry";
  const more = isAsked ? await askFor(action, 1, `${verb} 1 job`, title, held) : {};
  if (!more) return;
  await act(
    () => post(`jobs/${part(job.id)}/${action}`, { state: job.state, ...more }),
    `Job ${job.id} ${SAID[action]}`,
  );
  ctx.refresh();
}

export default {
  title: "Job",
  titleOf: ({ args: [id] }, job) => (job ? finished.titleOf(job) : `Job ${id}`),
  async load({ args: [id], params }, signal) {
    const again = loadAgain(id, signal);
    again.catch(() => {}); // told where it is awaited, unless something else fails first
    const job = await get(
      `jobs/${part(id)}`,
      params,
      { signal, read: (text) => ({ ...JSON.parse(text), exact: parseExactly(text) }) },
    ).catch(async (error) => {
      if (error.status !== 404) throw error;
      // If that one is not there either, what is said of the job counts.
      return get(`finished/${part(id)}`, {}, { signal }).catch(() => Promise.reject(error));
    });
    return { ...job, again: await again };
  },
  render(ctx, job) {
    if (job.outcome) return finished.render(job);
    const plain = job.state === "reserved" ? "" : "primary";
    const kind = (action) => ({ retry: plain, move: "plain" })[action] ?? "danger";
    const isOver = (action) => action === "retry" && hasExpired(job);
    const actions = !ctx.mayOperate(job.queue)
      ? []
      : [...ACTIONS[job.state]].map((action) =>
          button(verbOf(action, job.state), () => change(ctx, job, action), {
            kind: kind(action),
            key: action,
            disabled: isOver(action),
            title: isOver(action) && WHY_NO_RETRY,
          }),
        );
    if (!ctx.isReadOnly && job.is_pushed && job.work_unit) {
      const again = () =>
        pushDialog(ctx, job.queue, write(asNew(job.exact.swork_unit), 2));
      actions.push(button("Push again…", again, { kind: "plain" }));
    }
    const unit = job.work_unit ?? {};
    return [
      h(
        "p",
        { class: "crumbs" },
        h("a", { href: link("jobs", { state: job.state }) }, `${STATES[job.state].name} jobs`),
      ),
      head(
        [
          h("span", { class: "type" }, job.type || "(no type)"),
          " ",
          h("span", { class: "id" }, job.id),
          stateBadge(job.state),
        ],
        ...actions,
      ),
      h(
        "div",
        { class: "pair" },
        section(
          "Timeline",
          null,
          lifeBar(job, running(job), job.state === "dead" ? Date.parse(job.when) : serverNow()),
          timeline(story(job)),
          h("p", { class: "dim" }, soFar(job.tallies)),
        ),
        section(
          "Details",
          null,
          facts([
            ["Queue", queueLink(job.queue)],
            ["jid", [h("code", {}, job.jid), " ", copyButton("Copy", "jid", () => job.jid)]],
            lastChange(job.last_change),
            ...againFacts(job.again),
            job.batch && ["Batch", batchOf(job)],
            job.cron && ["Cron entry", cronLink(job.cron)],
            ["Priority", priority(job)],
            ["Reservation timeout", span(job.ttr_s)],
            job.is_pushed && [
              "Retries",
              unit.retry > 0
                ? count(unit.retry)
                : unit.retry === 0
                  ? "none: discarded when it fails"
                  : "none: dead when it fails",
            ],
            job.progress && [
              "Progress",
              [
                progressOf(job.progress),
                h("div", { class: "dim" }, "updated ", ago(job.progress.updated_at)),
              ],
            ],
            job.lock && ["Unique", lock(ctx, job)],
            job.expires_at && [hasExpired(job) ? "Expired" : "Expires", expiry(job)],
            ...Object.entries(job.exact.swork_unit?.scustom ?? {})
              .filter(([name]) => !job.batch || !/^s_?bid$/.test(name))
              .slice(0, 20)
              .map(([name, value]) => [
                name.slice(1),
                foldable(value?.[0] === "s" ? value.slice(1) : write(value)),
              ]),
          ]),
        ),
      ),
      failure(job),
      content(ctx, job),
    ];
  },
};
