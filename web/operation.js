// Changes to many jobs: the confirmation before, and the progress bar.
import { get, ifAllowed, instance, post } from "./api.js";
import { breakdown, lookAtAll } from "./breakdown.js";
import { h, show } from "./dom.js";
import { count, plural } from "./format.js";
import { ask, button, complain } from "./ui.js";

/** A person who kills or deletes more jobs than this has to type their number. */
export const TYPED_MIN = 1000;
const LOOK_MS = 400;
const STAYS_MS = 8000;
const followed = new Set();
document.addEventListener("restarted", () => followed.clear());

export const DONE = {
  retry: "retried",
  move: "moved",
  kill: "killed",
  delete: "deleted",
  clear: "deleted",
};

/** Why fewer jobs were changed than a person has agreed to. */
function shortfall({ changed }, agreed, verb) {
  if (changed >= agreed) return "";
  const several = agreed - changed > 1;
  const who = changed > 0 ? (several ? "The others" : "The other one") : several ? "They" : "It";
  if (verb !== "retry") return ` ${who} had changed.`;
  // The server makes no job ready whose time is over, as it would be removed at once, nor one whose
  // lock another job holds.
  return ` ${who} had changed, expired, or ${several ? "were" : "was"} not unique.`;
}

/** `agreed`: the number of jobs in the confirmation. */
function sentence(progress, agreed, spread) {
  const verb = progress.title.split(" ")[0].toLowerCase();
  const word = spread ? `scheduled ${spread}` : (DONE[verb] ?? "changed");
  const changed = `${plural(progress.changed, "job")} ${word}`;
  if (progress.phase === "done")
    return `Done: ${changed}.${shortfall(progress, agreed, verb)}`;
  if (progress.phase === "cancelled") return `Cancelled: ${changed}.`;
  if (progress.phase === "unknown")
    return `The progress is unknown: ${changed} at the last report, maybe more since.`;
  return `${changed}, ${count(progress.looked_at)} of ${count(progress.to_look_at)} checked`;
}

/** An operation that has just ended by itself says so in its notice. */
const cancel = ({ id }) =>
  post(`operations/${id}/cancel`).catch((error) => error.status === 409 || complain(error));

/** Shows the progress of the operation until some seconds after its end. */
export async function follow(progress, onEnd = () => {}, spread = null) {
  if (followed.has(progress.id)) return;
  followed.add(progress.id);
  const life = instance;
  const { title, agreed } = progress;
  const node = h("div", { class: "notice operation" });
  document.getElementById("notices").append(node);
  const draw = () =>
    show(
      node,
      h("strong", {}, title[0].toUpperCase() + title.slice(1)),
      h("progress", {
        max: String(Math.max(1, progress.to_look_at)),
        value:
          progress.phase === "running"
            ? String(progress.looked_at)
            : String(Math.max(1, progress.to_look_at)),
        "aria-label": title,
      }),
      h("span", {}, sentence(progress, agreed, spread)),
      // With keys they are two buttons: a late click on "Cancel" must not dismiss the outcome.
      progress.phase === "running"
        ? button("Cancel", () => cancel(progress), { kind: "quiet", key: "cancel" })
        : button("Dismiss", () => node.remove(), { kind: "quiet", key: "dismiss" }),
    );
  draw();
  while (progress.phase === "running") {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const last = progress;
    try {
      progress = await get(`operations/${progress.id}`);
    } catch (error) {
      if (error.status < 400 || error.status >= 500) continue;
      progress = { ...progress, phase: "unknown" };
    }
    if (instance !== life) progress = { ...last, phase: "unknown" };
    draw();
  }
  onEnd(progress, spread);
  if (progress.phase !== "unknown") setTimeout(() => node.remove(), STAYS_MS);
}

/** Shows the operations that other browsers have started. */
export async function followRunning() {
  const { operations } = await get("operations");
  for (const each of operations) if (each.phase === "running") follow(each);
}

/**
 * Counts the matching jobs, slice by slice, and adds these to `parts`. Of a whole state the server
 * has the number. Returns the bounds of a change.
 */
async function countMatching(selection, parts, say, signal) {
  const { states: _, ...filter } = selection;
  const isFiltered = Object.keys(filter).length > 0;
  let matched = 0,
    looked = 0,
    asOf;
  for (const state of selection.states) {
    let cursor = "";
    do {
      const query = { ...filter, state, cursor, breakdown: isFiltered ? 1 : null };
      const slice = await get("jobs/count", query, { signal });
      if (isFiltered) parts.add(slice);
      matched += slice.matched;
      looked += slice.looked_at;
      cursor = slice.next;
      asOf ??= slice.as_of;
      say(`${plural(matched, "job")} so far, ${count(looked)} checked…`);
    } while (cursor);
  }
  if (isFiltered) parts.show();
  else lookAtAll(selection.states, parts, signal).catch(() => {}); // the dialog may be closed
  return { as_of: asOf, at_most: matched };
}

export const VERBS = { retry: "Retry", move: "Move", kill: "Kill", delete: "Delete" };

/** What can be undone needs no warning. */
const kindOf = (action) => (action === "retry" || action === "move" ? "primary" : "danger");

/** For the name of the queue that jobs are moved to; null: it is another change. */
function queueField(action) {
  if (action !== "move") return null;
  const input = h("input", { id: "move-to", autocomplete: "off", spellcheck: "false" });
  return {
    place: h("p", {}, h("label", { for: "move-to" }, "To the queue"), " ", input),
    read: () => ({ to: input.value.trim() }),
  };
}

/** A sentence that says how the action changes `n` jobs. */
async function fate(action, n, isHeld) {
  const who = plural(n, "job");
  if (isHeld)
    return (
      `${who} will be ${{ retry: "ready", kill: "dead", delete: "deleted" }[action]}. ` +
      (n === 1
        ? "The worker is not interrupted; its result will be ignored."
        : "The workers are not interrupted; their results will be ignored.")
    );
  if (action === "delete") return `${who} will be deleted permanently.`;
  if (action === "retry") return `${who} will be enqueued.`;
  if (action === "move") return `${who} will be moved, with state, age and failures.`;
  const [server, { jobs }] = await Promise.all([
    ifAllowed("server", () => get("server")),
    get("overview"),
  ]);
  const limit = server?.options.find(({ name }) => name === "dead-max-jobs");
  const max = limit ? Number(limit.value) : Infinity;
  return (
    `${who} will become dead. Dead jobs can be retried or deleted. ` +
    (jobs.dead + n > max
      ? `At most ${count(max)} pushed jobs can be dead: beyond that, the oldest are deleted.`
      : "")
  );
}

/** Within how many seconds jobs that are retried become ready. */
const SPREADS = [
  [0, "at once"],
  [600, "over 10 minutes"],
  [3600, "over an hour"],
  [21600, "over 6 hours"],
];

/** A choice of the above: a flood of retries can break what has just recovered. */
function spreadChoice(action, { states }) {
  const isOfFailed = states.every((state) => state === "retrying" || state === "dead");
  if (action !== "retry" || !isOfFailed) return null;
  const options = SPREADS.map(([seconds, words]) => h("option", { value: String(seconds) }, words));
  return h("select", { id: "spread" }, options);
}

/**
 * Asks before jobs are changed; `verb` is the label of the button. Resolves to what the request has
 * besides, or to null.
 */
export async function askFor(action, n, verb, title = verb, isHeld = false) {
  const field = queueField(action);
  const agreed = await ask({
    title: `${title}?`,
    verb,
    more: field?.place,
    kind: kindOf(action),
    prepare: async (say) => say(await fate(action, n, isHeld)),
  });
  return agreed ? (field?.read() ?? {}) : null;
}

/**
 * Asks with the number of jobs, then changes all that match. `to` is a path whose operation means
 * this selection.
 */
export async function changeAll(action, selection, what, onEnd, to) {
  const verb = VERBS[action];
  let bounds;
  const parts = breakdown();
  const spread = to ? null : spreadChoice(action, selection);
  const field = queueField(action);
  const agreed = await ask({
    title: `${verb} ${what}?`,
    text: "Counting…",
    more: [
      parts.place,
      field?.place,
      spread && h("p", {}, h("label", { for: "spread" }, "Enqueue them"), " ", spread),
    ],
    verb,
    kind: kindOf(action),
    prepare: async (say, signal) => {
      bounds = await countMatching(selection, parts, say, signal);
      const matched = bounds.at_most;
      say(
        matched === 0
          ? "No job matches any more."
          : `${await fate(action, matched)} New jobs are not affected.`,
      );
      if (matched === 0) return null;
      const label = `${verb} ${plural(matched, "job")}`;
      const isTyped = action === "delete" || (action === "kill" && matched > TYPED_MIN);
      return { label, typed: isTyped ? matched : 0 };
    },
  });
  if (!agreed) return;
  const seconds = Number(spread?.value ?? 0);
  const pace = seconds > 0 ? { spread_s: seconds } : {};
  const over = seconds > 0 ? SPREADS.find(([each]) => each === seconds)[1] : null;
  try {
    const begun = await (to
      ? post(to, bounds)
      : post("operations", { action, ...selection, ...bounds, ...pace, ...field?.read() }));
    follow({ ...begun, title: `${verb} ${what}`, agreed: bounds.at_most }, onEnd, over);
  } catch (error) {
    complain(error);
  }
}
