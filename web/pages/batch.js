import { get, part, post } from "../api.js";
import { h } from "../dom.js";
import { ago, count, plural } from "../format.js";
import { changeAll } from "../operation.js";
import { causeOf, memberCounts, progressBar } from "../parts/batch_marks.js";
import { graph } from "../parts/graph.js";
import { go, link } from "../route.js";
import {
  act,
  ask,
  button,
  empty,
  facts,
  figure,
  head,
  queueLink,
  section,
  stateBadge,
  table,
} from "../ui.js";
import { STAGES, batchLink, stageBadge } from "./batches.js";
import { args, jobLink } from "./jobs.js";

const LIMIT = 20;
/** Those that need somebody first. */
const MEMBER_STATES = ["dead", "retrying", "reserved", "scheduled", "ready"];

// ---- acting ----

const those = (ctx, which) => `${which} of ${ctx.args[0]}`;

const change = (ctx, action, how, states, which) =>
  changeAll(
    action,
    { states, bid: ctx.args[0] },
    those(ctx, which),
    ctx.refresh,
    `batches/${part(ctx.args[0])}/${how}`,
  );

async function accept(ctx, { bid, lost }) {
  const agreed = await ask({
    title: `Accept ${plural(lost, "lost member")}?`,
    text:
      lost === 1
        ? "It ended without success and will not run again. Accepted, it counts as done, and " +
          "the success callback no longer waits for it."
        : "They ended without success and will not run again. Accepted, they count as done, and " +
          "the success callback no longer waits for them.",
    verb: `Accept ${plural(lost, "member")}`,
    kind: "primary",
  });
  if (!agreed) return;
  await act(
    () => post(`batches/${part(bid)}/accept`, { at_most: lost }),
    ({ accepted }) => `${plural(accepted, "member")} accepted.`,
  );
  ctx.refresh();
}

async function remove({ bid, pending, children }) {
  const agreed = await ask({
    title: `Delete the batch ${bid}?`,
    text:
      "No more callbacks will be pushed, and its parent stops waiting for it. " +
      (pending > 1 ? `Its ${count(pending)} jobs will run as plain jobs. ` : "") +
      (pending === 1 ? "Its job will run as a plain job. " : "") +
      (children > 1 ? "Its children continue without it." : "") +
      (children === 1 ? "Its child continues without it." : ""),
    verb: "Delete the batch",
  });
  if (!agreed) return;
  const gone = await act(() => post(`batches/${part(bid)}/delete`), `Batch ${bid} was deleted.`);
  if (gone) go(link("batches"));
}

function actions(ctx, batch) {
  if (ctx.isReadOnly) return [];
  const { members, pending, lost } = batch;
  const open = pending - members.reserved;
  return [
    button(
      "Retry dead…",
      () => change(ctx, "retry", "retry", ["dead"], "the dead members"),
      { disabled: members.dead === 0, key: "retry" },
    ),
    button("Accept lost…", () => accept(ctx, batch), { disabled: lost === 0, key: "accept" }),
    h("span", { class: "gap" }),
    button(
      "Discard open…",
      () =>
        change(
          ctx,
          "delete",
          "discard",
          ["ready", "scheduled", "retrying", "dead"],
          "the open members",
        ),
      { kind: "danger", disabled: open <= 0, key: "discard" },
    ),
    button("Delete…", () => remove(batch), { kind: "danger", key: "delete" }),
  ];
}

// ---- what it waits for ----

function progress(batch) {
  const { succeeded, total } = batch;
  if (total === 0) return null;
  return section(
    "Progress",
    h("span", { class: "dim" }, `${count(succeeded)} of ${count(total)} jobs succeeded`),
    progressBar(batch),
    memberCounts(batch),
  );
}

/** The callback's job with its state. */
function callbackJob({ job, job_state: state }) {
  if (job === null) return null;
  if (state === null) return `job ${job}`;
  return [h("a", { href: link(`jobs/${job}`) }, `job ${job}`), stateBadge(state)];
}

/** The children by name, as many as the server names, and how many there are besides. */
function named(n, batches) {
  const names = batches.map(batchLink);
  if (n > names.length) names.push(`${count(n - names.length)} more`);
  return names.flatMap((name, i) => {
    if (i === 0) return [name];
    return [i === names.length - 1 ? " and " : ", ", name];
  });
}

function block({ bid }, { what, count: n, batches, ...callback }) {
  const jobs = (one, several) => [
    h("a", { href: link("jobs", { bid, state: "any" }) }, plural(n, "member")),
    ` that ${n === 1 ? one : several}`,
  ];
  const children = (state, one, several) => [
    n === 1 && batches.length === 1
      ? "1 child"
      : h("a", { href: link("batches", { parent: bid, state }) }, plural(n, "child", "children")),
    ` that ${n === 1 ? one : several}`,
    batches.length > 0 && [": ", named(n, batches)],
  ];
  switch (what) {
    case "commit":
      return "its client, which has not committed it yet: more jobs may be added";
    case "members":
      return jobs("has not run yet", "have not run yet");
    case "failed_members":
      return jobs("has failed and can be retried", "have failed and can be retried");
    case "lost_members":
      return n === 1
        ? "1 member failed permanently: accept it so the batch can succeed"
        : `${count(n)} members failed permanently: accept them so the batch can succeed`;
    case "children":
      return children("", "still runs", "still run");
    case "lost_callback":
      return "its success callback, whose job was deleted: it is not pushed again";
    case "failed_children":
      return children("failed", "has failed, or is gone", "have failed, or are gone");
    default:
      return [
        `its ${what} callback, `,
        callbackJob(callback),
        callback.job_state === "dead" && ": retry that job",
      ];
  }
}

function waiting(batch) {
  const { blocked_by: blocks, callbacks } = batch;
  if (blocks.length > 0)
    return section(
      "Blocked by",
      null,
      causeOf(batch, "first"),
      h("ul", { class: "blocks" }, blocks.map((each) => h("li", {}, block(batch, each)))),
    );
  const gone = callbacks.some(({ state }) => state === "gone");
  return section(
    "Blocked by",
    null,
    h("p", {}, gone ? "Nothing. One of its callbacks was deleted." : "Nothing: it is done."),
  );
}

// ---- callbacks, family, members ----

const CALLBACK_STATES = {
  waiting: "not due yet",
  enqueued: "pushed",
  succeeded: "done",
  gone: "its job was deleted",
  none: "cannot be read",
};

function callbacks({ callbacks: all }) {
  const line = (each) =>
    h(
      "tr",
      { "data-key": each.role },
      h("td", {}, each.role),
      h("td", {}, queueLink(each.queue)),
      h("td", {}, CALLBACK_STATES[each.state]),
      h("td", {}, callbackJob(each)),
    );
  return section(
    "Callbacks",
    null,
    table(
      "Callbacks",
      [["When"], ["Queue"], ["State"], ["Job"]],
      all.map(line),
      "cards callbacks",
    ),
  );
}

const node = (name, { bid, state }, below) =>
  h("li", { "data-key": bid }, name, stageBadge(state), below);

/** Its children, theirs and so on, as many as the server gives, and how many there are besides. */
function descendants({ bid, description, children, child_list: list }) {
  if (children === 0) return null;
  const more = children - list.length;
  const text = list.length > 0 ? `${count(more)} more` : plural(more, "child", "children");
  const all = {
    href: link("batches", { parent: bid }),
    "aria-label": `${text} of ${description || bid}`,
  };
  return h(
    "ul",
    {},
    list.map((each) => node(batchLink(each), each, descendants(each))),
    more > 0 && h("li", { "data-key": "more" }, h("a", all, text)),
  );
}

/** The stages as the graph shows them: those that need somebody first. */
const STAGE_ORDER = ["failed", "open", "running", "succeeded"];
/** How many children of a batch the graph shows before it folds the rest. */
const UNFOLDED = 7;

function nodeOf(batch, children, isHere = false) {
  const { bid, description, state, total, succeeded } = batch;
  const { name, sign: shape, kind } = STAGES[state];
  return {
    key: bid,
    name: description || bid,
    about: `${shape} ${name} · ${count(succeeded)} of ${count(total)}`,
    href: link(`batches/${bid}`),
    kind,
    isHere,
    bar: (place) => progressBar(batch, place),
    children,
  };
}

/** The nodes below a batch: some of its children, and one that stands for the others. */
function nodesBelow({ bid, children, child_list: list }) {
  const rank = ({ state }) => STAGE_ORDER.indexOf(state);
  const shown = [...list].sort((a, b) => rank(a) - rank(b)).slice(0, UNFOLDED);
  const nodes = shown.map((each) => nodeOf(each, nodesBelow(each)));
  const more = children - shown.length;
  if (more <= 0) return nodes;
  const text = shown.length > 0 ? `and ${count(more)} more` : plural(more, "child", "children");
  const fold = {
    key: `${bid} more`,
    name: text,
    href: link("batches", { parent: bid }),
    kind: "fold",
    children: [],
  };
  return [...nodes, fold];
}

/** The batch among its parents and children, as a graph and as a list. */
function family(batch) {
  const { ancestors, children, parent_bid: parent } = batch;
  if (ancestors.length + children === 0 && !parent) return null;
  const tree = ancestors.reduceRight(
    (inner, each) => node(batchLink(each), each, h("ul", {}, inner)),
    node(h("strong", {}, "this batch"), batch, descendants(batch)),
  );
  const root = ancestors.reduceRight(
    (inner, each) => nodeOf(each, [inner]),
    nodeOf(batch, nodesBelow(batch), true),
  );
  return section(
    "Parents and children",
    null,
    parent && ancestors.length === 0 && h("p", { class: "dim" }, `Its parent ${parent} is gone.`),
    root.children.length > 0 && [
      graph("Parents and children", root),
      h(
        "details",
        {},
        h("summary", {}, "As a list"),
        h("ul", { class: "family" }, tree),
      ),
    ],
  );
}

function member(job) {
  return h(
    "tr",
    { "data-key": String(job.id) },
    h("td", {}, jobLink(job)),
    h("td", {}, stateBadge(job.state)),
    h("td", {}, queueLink(job.queue)),
    h(
      "td",
      { class: "wide args" },
      job.error &&
        h("div", { class: "error" }, h("strong", {}, job.error.type), " ", job.error.message),
      args(job),
    ),
    figure(ago(job.created_at)),
  );
}

function noMembers({ total, pending, state }) {
  if (pending > 0) return "See all members.";
  if (total > 0) return "None: every member has ended.";
  return state === "open" ? "The batch has no members yet." : "The batch has no members.";
}

function openMembers(batch, jobs) {
  const { bid, pending } = batch;
  return section(
    `Open members (${count(pending)})`,
    pending > 0 && h("a", { href: link("jobs", { bid, state: "any" }) }, "Show all"),
    jobs.length > 0
      ? table(
          "Open members",
          [["Job"], ["State"], ["Queue"], ["Error, arguments", "wide"], ["Created", "n"]],
          jobs.map(member),
          "cards",
        )
      : empty(noMembers(batch)),
  );
}

async function loadMembers({ bid, members: counts }, signal) {
  const found = [];
  for (const state of MEMBER_STATES) {
    if (counts[state] === 0 || found.length >= LIMIT) continue;
    const page = await get("jobs", { bid, state, limit: LIMIT - found.length }, { signal });
    found.push(...page.jobs);
  }
  return found;
}

export default {
  title: "Batch",
  titleOf: ({ args: [bid] }, data) => data?.batch.description || bid,
  async load({ args: [bid] }, signal) {
    const batch = await get(`batches/${part(bid)}`, {}, { signal });
    return { batch, jobs: await loadMembers(batch, signal) };
  },
  render(ctx, { batch, jobs }) {
    const { bid, description, parent_bid: parent } = batch;
    return [
      h("p", { class: "crumbs" }, h("a", { href: link("batches") }, "Batches")),
      head([description || bid, stageBadge(batch.state)], ...actions(ctx, batch)),
      facts([
        ["Name", h("code", {}, bid)],
        parent && ["Parent", h("a", { href: link(`batches/${parent}`) }, parent)],
        ["Jobs", count(batch.total)],
        ["Failed", count(batch.failed)],
        ["Created", ago(batch.created_at)],
        batch.idle_at && ["Expires if unused", ago(batch.idle_at)],
        batch.forgotten_at && ["Deleted", ago(batch.forgotten_at)],
      ]),
      progress(batch),
      waiting(batch),
      callbacks(batch),
      family(batch),
      openMembers(batch, jobs),
    ];
  },
};
