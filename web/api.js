// The client of the public JSON API (docs/api.md). The pages use nothing else.

const BASE = new URL("api/v1/", document.baseURI);
const kept = new Map(); // url -> {tag, data}: an unchanged answer is neither sent nor parsed again
const KEPT_MAX = 50;
/** The server answers within 20 seconds, or not at all. */
const READ_MS = 10000;
const CHANGE_MS = 25000;
const PROBE_MS = 3000;

let clockOffset = 0;
/** The server's clock, in milliseconds. */
export const serverNow = () => Date.now() + clockOffset;

/** The id of the server process. A change fires "restarted" on the document. */
export let instance = "";

/** When the server answered last, by the clock of `performance.now`. */
export let answeredAt = performance.now();

let isOffline = false;

/** True when the server refuses changes. A change fires "readonly" on the document. */
export let isReadOnly = false;

/** Patterns of the queues where the user may operate; null: no such limit. */
let operated = null;

/** Whether buttons for this queue are shown. The server refuses what the user may not do. */
export const mayOperate = (queue) =>
  !isReadOnly && (operated === null || operated.some((each) => each.test(queue)));

/** What is about all queues: of a user of some, it is not asked for. */
const WHOLE = new RegExp(
  "^(trend|history|server|cluster|types|connections|throttles|throttle-rules" +
    "|(batches|alerts|workers|views)(/.*)?|errors/.*)$",
);
let isLimited = false;
let known;
/** The first answer says what the user may see. */
const rights = new Promise((resolve) => {
  known = resolve;
});

/** A pattern as of file names, as a regular expression. */
function regexOf(pattern) {
  const one = (part) => ({ "*": ".*", "?": "." })[part] ?? part.replace(/\W/, "\\$&");
  const text = pattern.replace(/\[[^\]]+\]|[^]/g, (part) =>
    part.length > 1 ? part.replace("[!", "[^") : one(part),
  );
  try {
    return new RegExp(`^${text}$`, "s");
  } catch {
    return /^/; // the server decides
  }
}

function noteRights(headers) {
  if (!headers.has("X-Instance")) return;
  isLimited = headers.has("X-Limited");
  const said = headers.get("X-Operates");
  operated = said && said.split(" ").map((each) => regexOf(decodeURIComponent(each)));
}

/** The name of the server and its color, or null. A change fires "named" on the document. */
export let serverName = null;

/** The user that is logged in, {name, isSession}, or null. A change fires "user". */
export let user = null;

function noteUser(headers) {
  const name = headers.get("X-User");
  const isSession = headers.get("X-Identified-By") === "session";
  const isSame = (user?.name ?? null) === name && (user?.isSession ?? false) === isSession;
  if (!headers.has("X-Instance") || isSame) return;
  user = name && { name, isSession };
  document.dispatchEvent(new Event("user"));
}

function noteName(headers) {
  const text = headers.get("X-Name");
  const color = headers.get("X-Name-Color");
  if (!headers.has("X-Instance") || (serverName?.raw ?? null) === text) return;
  serverName = text && { raw: text, text: decodeURIComponent(text), color };
  document.dispatchEvent(new Event("named"));
}

function note(headers) {
  answeredAt = performance.now();
  isOffline = false;
  const now = Number(headers.get("X-Now-Ms"));
  if (now) clockOffset = now - Date.now();
  const before = instance;
  instance = headers.get("X-Instance") ?? before;
  if (before && instance !== before) document.dispatchEvent(new Event("restarted"));
  const was = isReadOnly;
  isReadOnly = headers.has("X-Read-Only") || (!now && was);
  if (isReadOnly !== was) document.dispatchEvent(new Event("readonly"));
  noteRights(headers);
  noteName(headers);
  noteUser(headers);
  known();
}

export class ApiError extends Error {
  constructor(status, text, code) {
    super(text);
    this.status = status;
    this.code = code;
  }
}

/** True when the user has no right to: another request would bring nothing else. */
export const isForbidden = (error) => error?.code === "not_allowed";

const forbidden = new Set();
/** What `ask` answers, or null where the user has no right to it: then it is not asked again. */
export async function ifAllowed(what, ask) {
  if (forbidden.has(what)) return null;
  try {
    return await ask();
  } catch (error) {
    if (!isForbidden(error)) throw error;
    forbidden.add(what);
    return null;
  }
}

export function url(path, params = {}) {
  const target = new URL(path, BASE);
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== "") target.searchParams.set(name, value);
  }
  return target.href;
}

/** `late` is the error text when no answer comes within `ms`. */
async function send(target, options, ms, late) {
  let response, text;
  try {
    const signals = [AbortSignal.timeout(ms), options.signal].filter(Boolean);
    response = await fetch(target, {
      ...options,
      // Without it, a missing password would open the browser's dialog over the page.
      headers: { ...options.headers, "X-Requested-With": "millrace" },
      signal: AbortSignal.any(signals),
      cache: "no-store",
      credentials: "same-origin",
    });
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    isOffline = true;
    known();
    const isLate = error.name === "TimeoutError" || options.method;
    throw new ApiError(0, isLate ? late : "The server cannot be reached.");
  }
  note(response.headers);
  if (!response.ok && response.status !== 304) fail(response.status, text);
  return { response, text };
}

function fail(status, text) {
  let said = {};
  try {
    said = JSON.parse(text);
  } catch {
    // A proxy wrote this answer, so it has no error text of ours.
  }
  throw new ApiError(status, said?.error ?? `The server answered ${status}.`, said?.code);
}

/** Throws what the server would answer a user of some queues, who would have tried it in vain. */
async function refuseWhole(path, params) {
  if (!WHOLE.test(path) && (path !== "series" || params?.queue)) return;
  await rights;
  if (!isLimited) return;
  throw new ApiError(403, "you needs the right view for all queues", "not_allowed");
}

/** `read` parses the text. The result is kept for an unchanged answer. */
export async function get(path, params, { signal, read = JSON.parse } = {}) {
  await refuseWhole(path, params);
  const target = url(path, params);
  const before = kept.get(target);
  const headers = before ? { "If-None-Match": before.tag } : {};
  const late = "The server does not answer.";
  const { response, text } = await send(target, { headers, signal }, READ_MS, late);
  const data = response.status === 304 ? before.data : read(text);
  data.as_of = response.headers.get("X-As-Of"); // an unchanged answer has a new one
  if (response.status === 304) return data;
  const tag = response.headers.get("ETag");
  kept.delete(target);
  if (tag) kept.set(target, { tag, data });
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value);
  return data;
}

const PAGE_LENGTH_MAX = 300;
/** The page that is shown, for the list of changes; of a long address the path alone. */
function pageShown() {
  const { pathname, search } = location;
  const page = pathname.slice(new URL(document.baseURI).pathname.length - 1) + search;
  return page.length > PAGE_LENGTH_MAX ? page.split("?")[0].slice(0, PAGE_LENGTH_MAX) : page;
}

export async function post(path, body) {
  const life = instance;
  // Nothing is sent to a server that may be gone: when it comes back, it might still be done.
  if (isOffline)
    await send(url("operations"), {}, PROBE_MS, "The server does not answer. Nothing was sent.");
  const late = "The server has not answered. The change may still have been made.";
  const request = {
    method: "POST",
    // A job is named by its number. After a restart the number may mean another job.
    headers: { "Content-Type": "application/json", "X-Instance": life, "X-Page": pageShown() },
    body: typeof body === "string" ? body : JSON.stringify(body ?? {}),
  };
  return JSON.parse((await send(url(path), request, CHANGE_MS, late)).text);
}

/**
 * A name as one part of a path, with its slashes escaped. Browsers resolve "." and ".." in a path,
 * escaped or not: these are escaped twice.
 */
export const part = (name) =>
  encodeURIComponent(/^\.\.?$/.test(name) ? name.replaceAll(".", "%2E") : name);
/** Undoes the double escape. */
export const nameOf = (text) => (/^(%2E){1,2}$/.test(text) ? decodeURIComponent(text) : text);
