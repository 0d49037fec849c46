// The search at the top: a dialog that finds pages, actions of this page, queues, types, errors,
// cron entries, batches and jobs by some letters, or jobs by a query.
import { get, ifAllowed, part, user } from "./api.js";
import { h, show } from "./dom.js";
import { HELP } from "./help.js";
import { NAV } from "./pages.js";
import { hasFilter, parse } from "./query.js";
import { go, link } from "./route.js";
import { STATES, notice, openDialog } from "./ui.js";

const OPTIONS_MAX = 12;
/** Of each kind, so many are asked for. */
const EACH_MAX = 6;
/** Of lists that the server does not search, so many are looked at. */
const LIST_MAX = 200;
/** While one types, the server is asked after a pause of so long. */
const PAUSE_MS = 120;
/** In so many answers an error is looked for, and a type, in each state. */
const SLICES_MAX = 20;
const TYPE_SLICES_MAX = 8;

const PAGES = [
  ...NAV.map(([to, text]) => ({ kind: "Page", text, href: link(to) })),
  ...Object.entries(STATES).map(([state, { name }]) => ({
    kind: "Page",
    text: `${name} jobs`,
    href: link("jobs", { state }),
  })),
  { kind: "Page", text: "Completed jobs", href: link("completed") },
  { kind: "Page", text: "Alerts", href: link("alerts") },
  { kind: "Page", text: "Help", run: () => location.assign(HELP) },
  { kind: "Page", text: "Saved views", href: link("views") },
];

const SHORTCUTS = {
  kind: "Action",
  text: "Shortcuts",
  run: () => document.dispatchEvent(new Event("help")),
};
const TOKENS = { kind: "Page", text: "Tokens", href: link("tokens") };

/** The buttons of the page, other than those of a row. */
const actions = () =>
  [...document.querySelectorAll("main :is(.actions, .selection) button:enabled")].map((button) => ({
    kind: "Action",
    text: button.ariaLabel ?? button.textContent,
    run: () => button.click(),
  }));

// ---- finding ----

/** The answer; null: there is no such thing, no such name, or no right to it. */
const askFor = (path, query, signal) =>
  ifAllowed(path, () => get(path, query, { signal })).catch((error) => {
    if ([400, 404, 405].includes(error.status)) return null;
    throw error;
  });

const errorOption = ({ group, type, message }) => ({
  kind: "Error",
  text: message ? `${type}: ${message}` : type,
  name: type,
  href: link(`errors/${group}`),
});

/** What the server has of that name, or with the text in its name. */
async function named(text, signal) {
  const name = part(text);
  const ask = (path, query) => askFor(path, query, signal);
  const asked = [
    ask(`queues/${name}`),
    ask(`cron/${name}`),
    /^b-[\w-]{14}$/.test(text) ? ask(`batches/${name}`) : null,
    ask(`jids/${name}`),
    ask("queues", { match: text, limit: EACH_MAX }),
    ask("types"),
    ask("cron", { limit: LIST_MAX }),
    ask("views"),
    ask("workers", { limit: LIST_MAX }),
    ask("batches", { limit: LIST_MAX }),
    ask("errors", { match: text, limit: EACH_MAX }),
  ];
  const [queue, entry, batch, jobs, queues, types, cron, views, workers, batches, errors] =
    await Promise.all(asked);
  const several = (kind, names, path) =>
    names.map((each) => ({ kind, text: each, href: link(`${path}/${part(each)}`) }));
  // The lists may lack the one of that very name.
  const names = (all, one) => [...new Set([...all, one].filter(Boolean).map((each) => each.name))];
  return [
    ...several("Queue", names(queues.queues, queue), "queues"),
    ...several("Batch", batch ? [text] : [], "batches"),
    ...several("Cron", names(cron.entries, entry), "cron"),
    ...(batches?.batches ?? [])
      .filter(({ bid }) => bid !== text)
      .map(({ bid, description }) => ({
        kind: "Batch",
        text: description || bid,
        href: link(`batches/${bid}`),
      })),
    ...(workers?.workers ?? []).map(({ wid, hostname }) => ({
      kind: "Worker",
      text: `${wid} on ${hostname}`,
      name: wid,
      href: link(`workers/${part(wid)}`),
    })),
    ...several("View", (views?.views ?? []).map((each) => each.name), "views"),
    ...several("Type", (types?.types ?? []).map(({ type }) => type), "types"),
    ...(jobs?.jobs.length + jobs?.finished.length > 0
      ? [{ kind: "Job", text, href: link("jobs", { state: "any", id: text }) }]
      : []),
    ...(errors?.groups ?? []).map(errorOption),
  ];
}

/** 0: it is named so; 1: it begins so; 2: it has the text somewhere; 3: it has not. */
function rank({ text, name = text }, word) {
  const at = [name, text].map((each) => each.toLowerCase().indexOf(word));
  if (name.toLowerCase() === word) return 0;
  return at.includes(0) ? 1 : at.some((each) => each > 0) ? 2 : 3;
}

/** The best first. What an error says elsewhere, as in its note, the server has looked for. */
function sorted(options, text) {
  const word = text.toLowerCase();
  return options
    .map((option) => ({ option, place: rank(option, word) }))
    .filter(({ option, place }) => place < 3 || option.kind === "Error")
    .sort((a, b) => a.place - b.place)
    .slice(0, OPTIONS_MAX)
    .map(({ option }) => option);
}

/** The errors with that text; null: none of the first has it. */
async function errorsWith(text) {
  let page = { next: "" };
  for (let slice = 0; page?.next !== null && slice < SLICES_MAX; slice += 1) {
    page = await askFor("errors", { match: text, limit: 1, cursor: page.next });
    if (page?.groups.length > 0)
      return link("errors", { match: text, muted: page.groups[0].muted && "only" });
    page ??= { next: null };
  }
  return null;
}

/**
 * The jobs whose type is the text, or begins with it, in any state; null: none of the first is. A
 * type that has not run since the start of the server is not measured, but its jobs wait.
 */
async function jobsOfType(text) {
  for (const state of Object.keys(STATES)) {
    let cursor = "";
    for (let slice = 0; cursor !== null && slice < TYPE_SLICES_MAX; slice += 1) {
      const page = await askFor("jobs", { state, type: `${text}*`, limit: 1, cursor });
      if (page?.jobs.length > 0) {
        const isWhole = page.jobs[0].type === text;
        return link("jobs", { state: "any", type: isWhole ? text : `${text}*` });
      }
      cursor = page?.next ?? null;
    }
  }
  return null;
}

/** An e-mail is a query too, for the bodies. */
const isQuery = (text) => text.includes("@") || hasFilter(text);

/** The jobs of a query, or whatever has these words. */
async function findJobs(text) {
  const found =
    !isQuery(text) &&
    (await errorsWith(text).catch(() => null) ||
      (!/\s/.test(text) && (await jobsOfType(text).catch(() => null))));
  if (found) return go(found);
  const { params, problem } = parse(text);
  if (problem) notice(`${problem}.`, "bad");
  else go(link("jobs", { state: "any", ...params }));
}

/** What the text may mean, the best first, as far as the page knows without the server. */
function knownOptions(text) {
  const here = [...actions(), ...PAGES, ...(user ? [TOKENS] : []), SHORTCUTS];
  if (!text) return here;
  const [, id] = /^(?:beanstalk-)?(\d+)$/.exec(text) ?? [];
  if (id) return [{ kind: "Job", text: `Job ${id}`, href: link(`jobs/${id}`) }];
  return isQuery(text) ? [] : sorted(here, text);
}

const searchOption = (text) => ({
  kind: "Search",
  text: `Search jobs for “${text}”`,
  run: () => findJobs(text),
});

/** The same with what the server finds. */
async function allOptions(text, signal) {
  const known = knownOptions(text);
  if (!text) return known;
  const isOpen = !isQuery(text) && !/^\d+$/.test(text);
  const found = isOpen ? await named(text, signal).catch(() => []) : [];
  return [...(isOpen ? sorted([...known, ...found], text) : known), searchOption(text)];
}

// ---- the dialog ----

const ID = "palette-options";
const keyOf = ({ kind, text }) => `${kind} ${text}`;

/** Opens the dialog. Enter waits for what is being looked for. */
export function openPalette() {
  let options = [];
  let at = 0;
  let looking = Promise.resolve();
  let stop = new AbortController();
  const list = h("ul", { id: ID, role: "listbox", "aria-label": "Found" });
  const said = h("p", { class: "hidden", role: "status" });

  const choose = (option) => {
    dialog.close();
    if (option?.href) go(option.href);
    else option?.run();
  };

  const draw = () => {
    input.setAttribute("aria-expanded", String(options.length > 0));
    if (options.length > 0) input.setAttribute("aria-activedescendant", `${ID}-${at}`);
    else input.removeAttribute("aria-activedescendant");
    show(
      list,
      options.map((option, i) =>
        h(
          "li",
          {
            id: `${ID}-${i}`,
            role: "option",
            "aria-selected": String(i === at),
            onclick: () => choose(option),
          },
          h("span", {}, option.text),
          " ",
          h("span", { class: "dim" }, option.kind),
        ),
      ),
    );
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };

  /** What was chosen by the arrows stays so. */
  const offer = (found, keepsPlace) => {
    const before = keepsPlace && at > 0 && keyOf(options[at]);
    options = found;
    at = Math.max(0, before ? found.findIndex((each) => keyOf(each) === before) : 0);
    draw();
  };

  const look = async () => {
    const text = input.value.trim();
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    offer(knownOptions(text), false);
    await new Promise((resolve) => {
      setTimeout(resolve, PAUSE_MS);
    });
    if (signal.aborted) return;
    const found = await allOptions(text, signal);
    if (signal.aborted) return;
    offer(found, true);
    said.textContent = `${found.length} found`;
  };

  const move = (step) => {
    at = (at + step + options.length) % Math.max(1, options.length);
    draw();
  };
  const keys = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: () => looking.then(() => dialog.open && choose(options[at])),
  };
  const input = h("input", {
    type: "text",
    role: "combobox",
    "aria-label": "Search pages, actions, queues, types, errors and jobs",
    "aria-controls": ID,
    "aria-autocomplete": "list",
    placeholder: "Name, jid, word, or query such as state:dead error:timeout",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => {
      looking = look();
    },
    onkeydown: (event) => {
      if (!Object.hasOwn(keys, event.key) || event.isComposing) return;
      event.preventDefault();
      keys[event.key]();
    },
  });
  const dialog = h(
    "dialog",
    {
      class: "palette",
      "aria-label": "Search",
      onclick: ({ target }) => target === dialog && dialog.close(),
    },
    input,
    list,
    said,
  );
  dialog.addEventListener("close", () => stop.abort());
  openDialog(dialog);
  looking = look();
}
