// The building blocks of the pages.
import { h, show } from "./dom.js";
import { part, serverName } from "./api.js";
import { link } from "./route.js";
import { ago, count, none, plural, rate } from "./format.js";
import { helpLink } from "./help.js";

/** Each state has a shape besides its colour. "A ready job " + `says` is a sentence. */
export const STATES = {
  ready: { sign: "●", name: "Ready", says: "waits in its queue for a worker" },
  reserved: { sign: "▶", name: "Running", says: "is being run by a worker" },
  scheduled: { sign: "◷", name: "Scheduled", says: "enters its queue when it is due" },
  retrying: { sign: "↻", name: "Retrying", says: "failed and will be retried" },
  dead: {
    sign: "✕",
    name: "Dead",
    says: "is out of retries, or was killed or buried",
  },
};

/** "running job" */
export const jobIn = (state) => `${STATES[state].name.toLowerCase()} job`;

/** A shape that screen readers skip. */
export const sign = (shape, kind = "") =>
  h("span", { class: `sign ${kind}`, "aria-hidden": "true" }, shape);

export const badge = (text, kind = "", shape) =>
  h("span", { class: `badge ${kind}` }, shape && [sign(shape), " "], text);
export const stateBadge = (state) => badge(STATES[state].name, state, STATES[state].sign);
export const pausedBadge = ({ is_paused: isPaused, paused_until: end }) =>
  isPaused && badge(["paused", end && [", ends ", ago(end)]], "paused");

export const throttledBadge = ({ throttled }) =>
  throttled && badge(`throttled ${throttled}`, "throttled");

/** What a worker has told of its job, or null. */
export const progressOf = (progress) =>
  progress && [
    progress.percent !== null && [
      h("progress", { max: "100", value: String(progress.percent), "aria-label": "Progress" }),
      ` ${progress.percent}\u00a0% `,
    ],
    progress.desc,
  ];

export const queueLink = (name) =>
  h(
    "a",
    {
      href: link(`queues/${part(name)}`),
      class: "name",
      title: name,
    },
    name,
  );

export const cronLink = (name) => h("a", { href: link(`cron/${part(name)}`) }, name);

const WID_MAX = 60;

/** "web-3:4711"; the wid where nobody knows the host. */
export const workerName = ({ wid, hostname, pid }) => {
  if (hostname) return `${hostname}:${pid}`;
  return wid.length > WID_MAX ? `${wid.slice(0, WID_MAX)}…` : wid;
};

export const workerLink = (worker) =>
  h("a", { href: link(`workers/${part(worker.wid)}`), title: worker.wid }, workerName(worker));

/** Each link includes its comma, so that no line begins with a comma. */
export const queueLinks = (names) =>
  names.map((name, i) => [h("span", {}, queueLink(name), i < names.length - 1 && ","), " "]);

/** `which` tells of which one: "12 ready jobs" + " of mail". */
export const jobsLink = (n, query, what, which = "") =>
  h(
    "a",
    {
      href: link("jobs", query),
      class: n ? "n" : "n zero",
      "aria-label": plural(n, what) + which,
    },
    count(n),
  );

const busy = new WeakSet();

/** Ignores further clicks until the action has ended. */
async function press({ currentTarget: pressed }, onclick) {
  if (busy.has(pressed)) return;
  busy.add(pressed);
  try {
    await onclick();
  } finally {
    busy.delete(pressed);
  }
}

/** `isLocal`: it needs no server, so it works offline too. `title`: why it is disabled. */
export const button = (
  text,
  onclick,
  { kind = "", disabled = false, title, label, key, isLocal = false } = {},
) =>
  h(
    "button",
    {
      type: "button",
      class: kind,
      onclick: (event) => press(event, onclick),
      disabled,
      title,
      "aria-label": label,
      "data-key": key,
      "data-local": isLocal,
    },
    text,
  );

/** A labelled table that scrolls by itself. `columns` are [title, class], `foot` is a last row. */
export function table(label, columns, rows, kind = "", foot = null) {
  // On a narrow screen each cell names its column itself.
  for (const { children } of [...rows, foot].filter(Boolean))
    [...children].forEach(({ dataset }, i) => {
      const [title] = columns[i];
      if (title) dataset.label = title.dataset?.label ?? title.textContent ?? title;
    });
  const cell = ([title, kind]) =>
    title?.nodeType
      ? h("th", { scope: "col", class: kind, "aria-sort": title.dataset.sort }, title)
      : title
        ? h("th", { scope: "col", class: kind }, title)
        : h("td", { class: kind });
  return h(
    "div",
    { class: `scroll ${kind}`, tabindex: "0", role: "region", "aria-label": label },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, columns.map(cell))),
      h("tbody", {}, rows),
      foot && h("tfoot", {}, foot),
    ),
  );
}

/**
 * The title of a column, which sorts the list at `to` by it: downwards, except by the column
 * `rising`. `sort` and `order` are those of the list as it is shown.
 */
export function sortLink(to, params, { sort, order }, [key, title], rising) {
  const isOn = sort === key;
  const isDown = order === "desc";
  const next = (isOn ? isDown : key === rising) ? "" : "desc";
  const anchor = h(
    "a",
    { href: link(to, { ...params, cursor: "", sort: key, order: next }), class: "sort" },
    title,
    isOn && h("span", { "aria-hidden": "true" }, isDown ? " ▾" : " ▴"),
  );
  anchor.dataset.label = title;
  if (isOn) anchor.dataset.sort = isDown ? "descending" : "ascending";
  return anchor;
}

export const figure = (...what) => h("td", { class: "n" }, ...what);

/** A cell with a rate, dim when it is none. `unit` is that of its column: see `rateUnit`. */
export const speed = (perSecond, unit, kind = "") =>
  figure(h("span", { class: perSecond > 0 ? kind : "zero" }, rate(perSecond, unit)));

export const empty = (text, ...more) => h("div", { class: "empty" }, h("p", {}, text), more);

/** Lines of a config file. */
export const example = (text) => h("pre", { class: "example" }, text);

export function head(title, ...actions) {
  return h(
    "div",
    { class: "head" },
    h("h1", {}, title),
    h("div", { class: "actions" }, actions, helpLink()),
  );
}

/** A heading with an element next to it, and the content below. */
export const section = (title, controls, ...content) =>
  h("section", {}, h("div", { class: "head" }, h("h2", {}, title), controls), content);

/** The last cell of a row. */
export const acts = (ctx, ...buttons) =>
  h("td", { class: "acts" }, ctx.isReadOnly ? null : buttons);

/** The same of a row about this queue. */
export const actsOn = (ctx, queue, ...buttons) =>
  acts(ctx, ctx.mayOperate(queue) ? buttons : null);

/** What a user lacks: "ana needs the right view for all queues", said to that user. */
export const needed = ({ message }) => `${message.replace(/^\S+ needs/, "You need")}.`;

/** Links to the first and the next page of a list; `name` is the cursor's parameter. */
export function pager(to, params, next, more, name = "cursor") {
  const page = (cursor, text) => h("a", { href: link(to, { ...params, [name]: cursor }) }, text);
  return h(
    "div",
    { class: "pager" },
    more,
    params[name] && page("", "First page"),
    next && page(next, "Next page"),
  );
}

/** A list of [name, value]. */
export function facts(pairs) {
  return h(
    "dl",
    { class: "facts" },
    pairs
      .filter(Boolean)
      .map(([name, value]) =>
        h("div", {}, h("dt", {}, name), h("dd", {}, value ?? none())),
      ),
  );
}

// ---- notices ----

export function notice(text, kind = "good") {
  const box = document.getElementById("notices");
  const node = h("div", { class: `notice ${kind}` }, h("span", {}, text));
  node.append(button("Dismiss", () => node.remove(), { kind: "quiet" }));
  box.append(node);
  if (kind === "good") setTimeout(() => node.remove(), 6000);
  return node;
}

export const complain = ({ message }) =>
  notice(message[0].toUpperCase() + message.slice(1), "bad");

/** Runs an action and shows a notice with its result. */
export async function act(work, said) {
  try {
    const result = await work();
    const text = typeof said === "function" ? said(result) : said;
    if (text) notice(text);
    return result;
  } catch (error) {
    complain(error);
    return null;
  }
}

// ---- asking ----

/** The server's own name, in its color. */
export const nameBadge = () =>
  serverName &&
  h("span", { class: `server-name ${serverName.color}`, title: serverName.text }, serverName.text);

const titled = (title, ...content) =>
  h(
    "dialog",
    { "aria-labelledby": "title", class: serverName?.color },
    h("h2", { id: "title" }, nameBadge(), serverName && " ", title),
    content,
  );

/** The buttons of a dialog: Cancel, and `yes`. */
function choice(yes) {
  const no = button("Cancel", () => no.closest("dialog").close("no"), { kind: "plain" });
  return h("div", { class: "buttons" }, no, h("span", { class: "gap" }), yes);
}

/** Shows it until it is closed. The focus returns to where it was. */
export function openDialog(dialog) {
  const before = document.activeElement;
  document.body.append(dialog);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before?.isConnected) before.focus();
  });
  dialog.showModal();
}

/** A number above this is typed before so many jobs are deleted. */
const TYPED_FROM = 1000;

/** A field that enables the button `yes` once it has the number; nothing for small ones. */
function typedNumber(n, yes) {
  if (n <= TYPED_FROM) return null;
  yes.disabled = true;
  const input = h("input", {
    id: "typed",
    inputmode: "numeric",
    autocomplete: "off",
    oninput: () => {
      yes.disabled = input.value.replace(/[\s,.]/g, "") !== String(n);
    },
    onkeydown: ({ key }) => {
      if (key === "Enter") yes.click();
    },
  });
  return h("p", {}, h("label", { for: "typed" }, `Type ${count(n)} to confirm: `), input);
}

/**
 * Asks for confirmation. `verb` is the label of the dangerous button. `prepare(say, signal)` may
 * first look up details: its result is a label, or {label, typed}; null disables the button. `more`
 * is shown below the text; `typed` is a number to type. Resolves to true or false.
 */
export function ask({ title, text, verb, kind = "danger", prepare, more, typed = 0 }) {
  return new Promise((resolve) => {
    const stop = new AbortController();
    const about = h("p", { role: "status" }, text ?? "");
    const yes = button(verb, () => dialog.close("yes"), { kind, disabled: Boolean(prepare) });
    const place = h("div", {}, typedNumber(typed, yes));
    const dialog = titled(title, about, more, place, choice(yes));
    openDialog(dialog);
    dialog.querySelector("select, input, button").focus();
    dialog.addEventListener("close", () => {
      stop.abort();
      resolve(dialog.returnValue === "yes");
    });
    prepare?.((line) => show(about, line), stop.signal)
      .then((found) => {
        if (!dialog.open) return;
        yes.textContent = found?.label ?? found ?? verb;
        yes.disabled = found === null;
        const field = typedNumber(found?.typed ?? 0, yes);
        if (field) place.append(field);
        field?.querySelector("input").focus();
      })
      .catch((error) => {
        if (error.name !== "AbortError") show(about, error.message);
      });
  });
}

export function tell(title, ...content) {
  const close = button("Close", () => dialog.close(), { kind: "plain" });
  const dialog = titled(title, content, h("div", { class: "buttons" }, close));
  openDialog(dialog);
}

/** Asks for a text. Resolves to the result of `send(text)`, which may throw, or to null. */
export function askText({ title, hint, value, verb, send }) {
  return new Promise((resolve) => {
    const box = h("textarea", { rows: "10", spellcheck: "false", id: "ask-text" });
    box.value = value;
    const problem = h("p", { class: "problem", role: "alert" });
    const yes = button(
      verb,
      async () => {
        yes.disabled = true;
        try {
          resolve(await send(box.value));
          dialog.close();
        } catch (error) {
          problem.textContent = error.message;
          if (!dialog.open) complain(error);
        }
        yes.disabled = false;
      },
      { kind: "primary" },
    );
    const dialog = titled(
      title,
      h("label", { for: "ask-text" }, hint),
      box,
      problem,
      choice(yes),
    );
    dialog.classList.add("wide");
    openDialog(dialog);
    box.focus();
    // A text that was sent is still answered after a cancel.
    dialog.addEventListener("close", () => yes.disabled || resolve(null));
  });
}
