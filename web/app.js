// The frame around the pages: navigation, keys, theme, and the timer that updates a page.
import {
  answeredAt,
  isForbidden,
  isReadOnly,
  mayOperate,
  post,
  serverName,
  user,
} from "./api.js";
import { sentence } from "./format.js";
import { redrawAll } from "./chart.js";
import { h, named, show } from "./dom.js";
import { ICON, isInTrouble, noteHealth, watchHealth } from "./health.js";
import { HELP } from "./help.js";
import { followRunning } from "./operation.js";
import { MOVED, NAV, PAGES } from "./pages.js";
import { openPalette } from "./palette.js";
import { go, link, onChange, params, path } from "./route.js";
import { empty, nameBadge, needed, notice, tell } from "./ui.js";
import { turnZone, zoneChoice } from "./zone.js";
import job from "./pages/job.js";

const POLL_MS = 2000;
/** The status at the top tells the age of older answers. */
const FRESH_S = 3;

const main = document.getElementById("main");
const memories = new Map(); // address without cursor -> state of a page that was left
let current = null; // {page, ctx, at, about}
let timer = 0;
let isPaused = false;
let standing = "Live"; // how it is with updates: Live, Not updating, Unavailable or Offline
let statusShown = "";
let awakeAt = 0; // when the page began to be updated

// ---- drawing ----

function missing() {
  return {
    title: "Not found",
    load: async () => null,
    render: () => [
      h("h1", {}, "Not found"),
      empty("There is no such page.", h("a", { href: link("") }, "Go to Overview")),
    ],
  };
}

function find() {
  const here = path();
  if (MOVED[here]) {
    history.replaceState(null, "", link("") + MOVED[here]);
    return find();
  }
  for (const [pattern, page, nav] of PAGES) {
    const found = pattern.exec(here);
    try {
      if (found) return { page, nav, args: found.slice(1).map(decodeURIComponent) };
    } catch {
      break; // it has a broken escape
    }
  }
  return { page: missing(), nav: null, args: [] };
}

function open(keepsPlace) {
  const { page, nav, args } = find();
  const isSame = current?.page === page && current.at === path();
  // The state of a page, such as a selection, belongs to one list: its address without the cursor.
  const about = link(path(), { ...params(), cursor: "" });
  current?.stop.abort();
  if (current) memories.set(current.about, current.ctx.state);
  // An open question is about the page that is left. A job being written stays open.
  document.querySelector("dialog:not(.wide)")?.close();
  const ctx = {
    args,
    params: params(),
    state: (current?.about === about || keepsPlace) && memories.get(about) || {},
    get isReadOnly() {
      return isReadOnly;
    },
    mayOperate,
    refresh: () => load(),
    draw: () => draw(),
  };
  current = {
    page,
    nav,
    ctx,
    at: path(),
    about,
    stop: new AbortController(),
    data: undefined,
    isSame,
    error: null,
    place: keepsPlace ? (history.state ?? 0) : null,
  };
  drawTop();
  if (!isSame) {
    show(main, h("p", { class: "loading" }, "Loading…"));
    if (!keepsPlace) {
      scrollTo(0, 0);
      main.focus({ preventScroll: true });
    }
  }
  load();
}

async function load() {
  clearTimeout(timer);
  const mine = current;
  mine.stop.abort();
  mine.stop = new AbortController();
  const { signal } = mine.stop;
  try {
    const data = await mine.page.load(mine.ctx, signal);
    if (mine !== current || signal.aborted) return;
    mine.data = data;
    mine.error = null;
  } catch (error) {
    if (error.name === "AbortError" || mine !== current) return;
    mine.error = error;
    if (error.status === 0) noteHealth({ level: "trouble" });
  }
  judge();
  draw();
  later();
}

/** True when the server will refuse this address again. A missing job or queue may come back. */
const isRefused = (error) =>
  error?.status >= 400 && error.status < 500 && ![404, 408, 429].includes(error.status);

/** True when another request would bring nothing, or should wait for a click. */
const isLast = ({ ctx, error, page }) =>
  isRefused(error) || (error?.status !== 0 && Boolean(page.isStill?.(ctx)));

function standingOf({ error }) {
  if (error?.status === 0) return "Offline";
  if (isLast(current)) return "Not updating";
  return error?.status >= 500 ? "Unavailable" : "Live";
}

function judge() {
  const was = standing;
  standing = standingOf(current);
  if (standing !== was) drawTop();
}

function later() {
  clearTimeout(timer);
  if (!isPaused && !document.hidden && !isLast(current)) timer = setTimeout(load, POLL_MS);
}

const banner = (kind, ...content) =>
  h("div", { class: `banner ${kind}`, role: "alert" }, content);

/** Where the browser's dialog opens. It then leads back to this page. */
function loginAddress() {
  const address = new URL("login", document.baseURI);
  address.searchParams.set("to", `/${location.href.slice(document.baseURI.length)}`);
  return address.href;
}

async function logOut() {
  try {
    await post(new URL("logout", document.baseURI));
  } catch (error) {
    // 401: it was over before.
    if (error.status !== 401) return notice(sentence(error.message), "bad");
  }
  location.assign(new URL("login", document.baseURI));
}

function problem(error) {
  if (error.status === 401)
    return banner(
      "bad",
      "Please log in again. ",
      h("a", { href: loginAddress(), target: "_self" }, "Log in"),
    );
  if (isForbidden(error)) return empty(needed(error));
  if (isRefused(error))
    return banner(
      "gone",
      `The server rejected this address: ${error.message}. `,
      h("a", { href: link(path()) }, "Remove the filters"),
    );
  if (error.status !== 404) return banner("bad", `${sentence(error.message)} Trying again…`);
  const { nav, page, ctx } = current;
  return banner(
    "gone",
    `${sentence(error.message)} `,
    h("a", { href: link(nav) }, `All ${nav === "cron" ? "cron entries" : nav}`),
    page === job && [
      " · ",
      h("a", { href: link("jobs", { state: "any", id: ctx.args[0] }) }, "Search for this jid"),
    ],
  );
}

function render(page, ctx, data) {
  try {
    return page.render(ctx, data);
  } catch (error) {
    return [empty(`This page cannot be shown: ${error.message}.`)];
  }
}

function drawTitle() {
  const { page, ctx, data } = current;
  const parts = [page.titleOf?.(ctx, data) ?? page.title, serverName?.text, "Millrace"];
  const title = named(parts.filter(Boolean).join(" · "));
  document.title = isInTrouble() ? `▲ ${title}` : title;
}

/** Above what is still shown. */
function drawProgress(text) {
  main.setAttribute("aria-busy", "true");
  const known = main.querySelector(":scope > .progress");
  const line = known ?? h("p", { class: "progress", role: "status" });
  line.textContent = text ?? "";
  if (!known && text) main.prepend(line);
}

function draw() {
  const { page, ctx, data, error, isSame } = current;
  // What is shown stays until there is something better, and so does the focus.
  if (isSame && data === undefined && !error) return drawProgress(ctx.state.progress);
  drawTitle();
  const isOver = error?.status === 404;
  const shown = data !== undefined && !isOver ? render(page, ctx, data) : [];
  const heading = shown.length === 0 ? h("h1", { class: "hidden" }, page.title) : null;
  const progress = data === undefined && ctx.state.progress;
  const focused = document.activeElement;
  show(
    main,
    heading,
    error && problem(error),
    progress && h("p", { class: "progress", role: "status" }, progress),
    shown,
  );
  if (standing === "Offline")
    for (const each of main.querySelectorAll("button:not([data-local], .hidden)"))
      each.disabled = true;
  if (!focused?.isConnected || focused.disabled)
    (main.querySelector(".scroll") ?? main).focus({ preventScroll: true });
  if (data !== undefined && current.place !== null) {
    scrollTo(0, current.place);
    current.place = null;
  }
  main.setAttribute("aria-busy", String(data === undefined && !error));
}

// ---- the top ----

const THEMES = ["auto", "light", "dark"];
const theme = () => document.documentElement.dataset.theme ?? "auto";

function turnTheme() {
  const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
  if (next === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("millrace.theme", next);
  } catch {
    // Without storage the theme lasts until the page is closed.
  }
  drawTop();
}

function changeZone() {
  turnZone();
  drawTop();
  redrawAll();
  if (current.data !== undefined) draw();
}

function turnLive() {
  isPaused = !isPaused;
  awakeAt = performance.now();
  drawTop();
  if (isPaused) clearTimeout(timer);
  else load();
}

/** "Live", or for example "5 s old" while the server does not answer. */
function status() {
  if (isPaused) return "Paused";
  const seconds = Math.floor((performance.now() - Math.max(answeredAt, awakeAt)) / 1000);
  return standing === "Live" && seconds >= FRESH_S ? `${seconds} s old` : standing;
}

function drawTop() {
  const item = ([to, title]) =>
    h("a", { href: link(to), "aria-current": current.nav === to ? "page" : null }, title);
  const tool = (props, ...content) =>
    h("button", { type: "button", class: "quiet", ...props }, content);
  statusShown = status();
  const top = document.getElementById("top");
  top.className = serverName?.color ?? "";
  show(
    top,
    h(
      "a",
      { class: "brand", href: link(""), "aria-label": "Millrace, overview" },
      h("img", { src: ICON, alt: "", width: "22", height: "22" }),
      h("span", {}, "Millrace"),
    ),
    nameBadge(),
    h("nav", { "aria-label": "Pages" }, NAV.map(item)),
    h(
      "button",
      {
        type: "button",
        class: "find",
        onclick: openPalette,
        "aria-keyshortcuts": "Control+K /",
        title: "Search (Ctrl+K or /)",
      },
      "Search",
      h("kbd", { "aria-hidden": "true" }, "Ctrl K"),
    ),
    h(
      "div",
      { class: "tools" },
      isReadOnly && h("span", { class: "badge" }, "read-only"),
      user && h("a", { class: "quiet", href: link("tokens"), title: "Your tokens" }, "Tokens"),
      user?.isSession && tool({ onclick: logOut, title: `Log out ${user.name}` }, "Log out"),
      tool(
        {
          onclick: turnLive,
          "aria-pressed": String(!isPaused && standing === "Live"),
          title:
            standing === "Not updating"
              ? "This page does not update automatically"
              : "Update every 2 seconds (p)",
        },
        h("span", {
          class: statusShown === "Live" ? "dot on" : "dot",
          "aria-hidden": "true",
        }),
        statusShown,
      ),
      tool({ onclick: changeZone, title: "Time zone (u)" }, zoneChoice()),
      tool(
        { onclick: turnTheme, title: "Theme (t)" },
        { auto: "◐", light: "☀", dark: "☾" }[theme()],
        h("span", { class: "word" }, { auto: " Auto", light: " Light", dark: " Dark" }[theme()]),
      ),
      tool(
        {
          onclick: showKeys,
          "aria-label": "Keyboard shortcuts",
          title: "Keyboard shortcuts (?)",
        },
        "?",
      ),
    ),
  );
}

// ---- keys ----

function showKeys() {
  const rows = [
    ["Ctrl+K, /", "search: pages, actions, queues, types, errors, jobs"],
    ...NAV.map(([, title, key]) => [`g ${key}`, `go to ${title}`]),
    ["j, k", "next, previous row"],
    ["x", "select the row; Shift+click selects a range"],
    ["Enter", "open the row"],
    ["p", "pause or resume updates"],
    ["t", "switch the theme"],
    ["u", "switch between local time and UTC"],
    ["?", "show this list"],
  ];
  tell(
    "Keyboard shortcuts",
    h(
      "dl",
      { class: "keys" },
      rows.map(([key, what]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, what))),
    ),
    h("p", {}, h("a", { href: HELP }, "Help")),
  );
}

function moveRow(step) {
  const rows = [...main.querySelectorAll("tbody tr")].filter((row) => row.querySelector("a"));
  const at = rows.indexOf(document.activeElement.closest?.("tr"));
  const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step;
  rows[next]?.querySelector("a")?.focus();
}

let isGoing = false;
const KEYS = {
  "/": openPalette,
  "?": showKeys,
  p: turnLive,
  t: turnTheme,
  u: changeZone,
  j: () => moveRow(1),
  k: () => moveRow(-1),
  x: () => document.activeElement.closest?.("tr")?.querySelector("input[type=checkbox]")?.click(),
  g: () => {
    isGoing = true;
    setTimeout(() => {
      isGoing = false;
    }, 1200);
  },
};

addEventListener("keydown", (event) => {
  const isAsking = document.querySelector("dialog[open]");
  if (event.key === "k" && (event.ctrlKey || event.metaKey) && !isAsking) {
    event.preventDefault();
    return openPalette();
  }
  const isTyping = event.target.closest?.("input:not([type=checkbox]), textarea, select");
  if (isTyping && event.key === "Escape") event.target.blur();
  if (
    isTyping ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    isAsking
  )
    return;
  const page = isGoing && NAV.find(([, , key]) => key === event.key);
  isGoing = false;
  if (!page && !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  if (page) go(link(page[0]));
  else KEYS[event.key]();
});

// ---- start ----

// Until the first answer is drawn, the page shows the buttons of the previous address. A click that
// leaves a filter field changes the address, and may hit one of these buttons.
main.addEventListener(
  "click",
  (event) => {
    if (current.data === undefined && event.target.closest("[type=button]"))
      event.stopPropagation();
  },
  true,
);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (!isPaused) {
    awakeAt = performance.now();
    load();
    followRunning().catch(() => {});
  }
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

// After a restart the page shows jobs of the previous process: nothing can be clicked before it is
// drawn again.
document.addEventListener("restarted", () => {
  memories.clear();
  current.about = null;
  open(true);
  notice("The server was restarted. Check the page before you repeat an action.", "bad");
});
document.addEventListener("help", showKeys);
document.addEventListener("pinned", () => load());
document.addEventListener("named", () => {
  drawTop();
  drawTitle();
});
document.addEventListener("user", drawTop);
document.addEventListener("health", drawTitle);
document.addEventListener("readonly", () => {
  drawTop();
  if (current.data !== undefined) draw();
});
setInterval(() => status() !== statusShown && drawTop(), 1000);
onChange(open);
open(true);
watchHealth(() => isPaused);
followRunning().catch(() => {});
