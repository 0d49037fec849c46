// The public JSON API: docs/api.md. Nothing else is asked for anywhere.

const BASE = new URL("api/v1/", document.baseURI);
const kept = new Map(); // url -> {tag, data}, so that an unchanged answer is neither sent nor read
const KEPT_MAX = 50;
/** The server itself answers within 20 seconds, if it does. */
const READ_MS = 10000;
const CHANGE_MS = 25000;

let clockOffset = 0;
/** The server's clock, in milliseconds. */
export const serverNow = () => Date.now() + clockOffset;

/** Differs each time the server starts: a "restarted" of the document tells. */
export let instance = "";

/** Whether the server that answered last changes nothing; a "readonly" of the document tells. */
export let isReadOnly = false;

function note(headers) {
  const now = Number(headers.get("X-Now-Ms"));
  if (now) clockOffset = now - Date.now();
  const before = instance;
  instance = headers.get("X-Instance") ?? before;
  if (before && instance !== before) document.dispatchEvent(new Event("restarted"));
  const was = isReadOnly;
  isReadOnly = headers.has("X-Read-Only") || (!now && was);
  if (isReadOnly !== was) document.dispatchEvent(new Event("readonly"));
}

export class ApiError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export function url(path, params = {}) {
  const target = new URL(path, BASE);
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== "") target.searchParams.set(name, value);
  }
  return target.href;
}

/** `late` is what is said when no answer comes within `ms`. */
async function send(target, options, ms, late) {
  let response, text;
  try {
    const signals = [AbortSignal.timeout(ms), options.signal].filter(Boolean);
    response = await fetch(target, {
      ...options,
      signal: AbortSignal.any(signals),
      cache: "no-store",
      credentials: "same-origin",
    });
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const isLate = error.name === "TimeoutError" || options.method;
    throw new ApiError(0, isLate ? late : "The server cannot be reached.");
  }
  note(response.headers);
  if (!response.ok && response.status !== 304) fail(response.status, text);
  return { response, text };
}

function fail(status, text) {
  let said;
  try {
    said = JSON.parse(text).error;
  } catch {
    // It is not ours.
  }
  throw new ApiError(status, said ?? `The server answered ${status}.`);
}

/** `read` makes of the text what is kept and returned. */
export async function get(path, params, { signal, read = JSON.parse } = {}) {
  const target = url(path, params);
  const known = kept.get(target);
  const headers = known ? { "If-None-Match": known.tag } : {};
  const late = "The server does not answer.";
  const { response, text } = await send(target, { headers, signal }, READ_MS, late);
  const data = response.status === 304 ? known.data : read(text);
  data.as_of = response.headers.get("X-As-Of"); // also of what is so still
  if (response.status === 304) return data;
  const tag = response.headers.get("ETag");
  kept.delete(target);
  if (tag) kept.set(target, { tag, data });
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value);
  return data;
}

export async function post(path, body) {
  const late = "The server has not answered: it may have been done, or will be.";
  const request = {
    method: "POST",
    // What is changed was seen by its number, which means another in another life of the server.
    headers: { "Content-Type": "application/json", "X-Instance": instance },
    body: typeof body === "string" ? body : JSON.stringify(body ?? {}),
  };
  return JSON.parse((await send(url(path), request, CHANGE_MS, late)).text);
}

/**
 * A name as one part of a path; slashes in it are escaped too. Browsers take "." and ".." for steps
 * in the path, escaped or not: those are escaped twice.
 */
export const part = (name) =>
  encodeURIComponent(/^\.\.?$/.test(name) ? name.replaceAll(".", "%2E") : name);
