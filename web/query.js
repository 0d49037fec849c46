// The line in which jobs are searched: `state:dead type:Send* error:"timed out" -queue:bulk`. A
// part that is one of the filters in the address is there by its name. All others are its `q`,
// which the server reads: what is negated, or compared otherwise, and all parts if there is an OR.

/** Name in the line, name in the address, how it is written. */
const PARTS = [
  ["state", "state", ":"],
  ["queue", "queue", ":"],
  ["type", "type", ":"],
  ["job", "id", ":"],
  ["error", "error", ":"],
  ["text", "text", ":"],
  ["args.", "arg", ""],
  ["age", "older_than_s", ">"],
  ["failed", "failed_since_ms", ">"],
  ["failed", "failed_until_ms", "<"],
  ["batch", "bid", ":"],
  ["group", "group", ":"],
  ["worker", "wid", ":"],
  ["connection", "client", ":"],
];
/** These are for the server alone. */
const COMPARED = [
  ["age", "<"],
  ["attempts", ">"],
  ["attempts", "<"],
];
/** Milliseconds since 1970 in the address, readable in the line. */
const TIMES = new Set(["failed_since_ms", "failed_until_ms"]);
const SAME = { id: "job", jid: "job", bid: "batch", wid: "worker" };

export const NAMES = [
  ...new Set(PARTS.map(([name, , sign]) => name + sign)),
  ...COMPARED.map((each) => each.join("")),
  "OR",
];

const QUOTED = /"(?:[^"\\]|\\.)*"/.source;
/** Names in arguments, with dots between them. */
const NAMED = `(?:[^\\s.:>"]+|${QUOTED})`;
const PATH = `${NAMED}(?:\\.${NAMED})*`;
/** `user.id:42`; the server reads what it says. */
const ARGUMENTS = new RegExp(`${PATH}:(?:${QUOTED}(?!\\S)|[^\\s"]\\S*)`, "g");

const TOKEN = new RegExp(`-?([a-z]+)(\\.${PATH})?([:<>=])(${QUOTED}|\\S*)|-?${QUOTED}|\\S+`, "gi");
const DURATION = /^(?:\d+(?:\.\d+)?[smhd])+$|^\d+$/;

const unquoted = (value) =>
  value[0] === '"' ? value.replace(/^"|"$/g, "").replace(/\\(.)/g, "$1") : value;

const quoted = (value) =>
  /[\s"]/.test(value) ? `"${value.replace(/[\\"]/g, (sign) => `\\${sign}`)}"` : value;

const nameOf = (name) => SAME[name.toLowerCase()] ?? name.toLowerCase();

const isKnown = (name) =>
  [...PARTS, ...COMPARED].some(([each]) => each === nameOf(name));

const isFilter = ([, name, inside]) =>
  Boolean(name) && (/^args?$/i.test(name) || (!inside && isKnown(name)));

/** Whether some of it is a filter, and not only words. */
export const hasFilter = (line) => [...line.matchAll(TOKEN)].some(isFilter);

/**
 * A word without the name of a filter. With others it is for bodies. Alone it is a number or a jid
 * if it may be, which is found soon; or else also what a jid begins with, or part of an error.
 */
function readWord(word, params) {
  const isAlone = Object.keys(params).every((name) => name === "state");
  if (!isAlone || /[@\s"]/.test(word)) return { ...params, text: unquoted(word) };
  if (/\d/.test(word)) return { ...params, id: word };
  return { ...params, q: `text:${word} OR error:${word} OR job:${word}` };
}

/** The filters that the token sets; `q` if it is for the server, or what is wrong with it. */
function readPart([whole, name, inside, written, value]) {
  const sign = written === "=" ? ":" : written;
  if (inside && /^args?$/i.test(name)) {
    if (sign !== ":" || !value) return { problem: `Write ${name}${inside}: and a value` };
    // Quotes stay: the server reads them.
    return { to: "arg", value: `${inside.slice(1)}:${value}` };
  }
  const wanted = nameOf(name);
  const text = unquoted(value);
  const parts = inside ? [] : PARTS.filter(([each]) => each === wanted);
  const isCompared = COMPARED.some(([each, by]) => each === wanted && by === sign);
  const isAge = wanted === "failed" && DURATION.test(text);
  if (!inside && text && (isCompared || isAge)) return { q: whole };
  const [, to, expected] = parts.find((each) => each[2] === sign) ?? parts[0] ?? [];
  if (!to && (inside || !isKnown(name)))
    return { problem: `There is no filter “${name}${inside ?? ""}”. Known are ${NAMES.join(" ")}` };
  if (sign !== expected)
    return { problem: `Write ${wanted}${expected ?? ">"} instead of ${name}${written}` };
  if (!text) return { problem: `${name}${sign} has no value` };
  if (!TIMES.has(to)) return { to, value: text };
  const time = Date.parse(text);
  return Number.isNaN(time)
    ? { problem: `“${text}” is not a time, as 2026-11-26T10:05:00Z, or an age, as 2h` }
    : { to, value: String(time) };
}

/** The filters of a line, and what is wrong with it, if anything is. */
export function parse(line) {
  const params = {};
  const words = [];
  const others = [];
  const tokens = [...line.matchAll(TOKEN)];
  const hasOr = tokens.some(([whole]) => whole === "OR");
  for (const token of tokens) {
    const [whole, name, inside, written, value] = token;
    const isNegated = whole[0] === "-" && whole.length > 1;
    // The names of types may have "::".
    const isPlain = !name || (!inside && !isKnown(name) && (written === "=" || value[0] === ":"));
    // Somebody may have pasted a message: "KeyError: no key". A misspelt filter that is negated
    // would leave out nothing.
    const isPasted = !isPlain && !isNegated && !isFilter(token);
    const isWord = isPlain || isPasted;
    const word = isPasted ? JSON.stringify(whole) : whole;
    const part = isWord ? {} : readPart(token);
    if (part.problem) return part;
    const isState = part.to === "state" && !isNegated;
    if (!isState && (hasOr || isNegated || part.q))
      others.push(!isWord && written === "=" ? whole.replace("=", ":") : word);
    else if (isWord) words.push(word);
    // All values in the arguments must be there.
    else params[part.to] = [part.to === "arg" && params.arg, part.value].filter(Boolean).join(" ");
  }
  // Each of several words counts by itself.
  if (words.length > 1 || params.text) others.push(...words.splice(0));
  if (others.length > 0) params.q = others.join(" ");
  return { params: words.length > 0 ? readWord(words[0], params) : params };
}

/** "2026-11-26T10:05:00Z"; what is no number stays. */
export function writeTime(ms) {
  const time = new Date(Number(ms));
  return Number.isNaN(time.getTime()) ? ms : time.toISOString().replace(".000Z", "Z");
}

function writePart([name, to, sign], value) {
  if (to === "arg") return writeArguments(value);
  return name + sign + quoted(TIMES.has(to) ? writeTime(value) : value);
}

/** Each value in the arguments as a part of the line. */
const writeArguments = (text) =>
  (text.match(ARGUMENTS) ?? [text]).map((each) => `args.${each}`).join(" ");

/** The alternatives of a query, each as its parts. */
function alternatives(q) {
  const all = [[]];
  for (const [token] of q.matchAll(TOKEN))
    if (token === "OR") all.push([]);
    else all.at(-1).push(token);
  return all;
}

/** The line for these filters. Each alternative gets those that are not in the query. */
export function write({ state, q = "", ...params }) {
  const parts = PARTS.filter(([, to]) => params[to]).map((each) =>
    writePart(each, params[each[1]]),
  );
  const all = alternatives(q).map((tokens) => [...parts, ...tokens].join(" "));
  return [state && `state:${state}`, all.join(" OR ")].filter(Boolean).join(" ");
}

/**
 * Lines that could be meant, when the last part of `line` is not complete.
 * `valuesOf(name, beginning)` gives the values for a name.
 */
export async function complete(line, valuesOf) {
  const [, before, last] = /^(.*?)(\S*)$/.exec(line);
  const [, minus, name, value] = /^(-?)([a-z]+)[:>](.*)$/i.exec(last) ?? [];
  if (!name) {
    const [, sign, begun] = /^(-?)(.*)$/.exec(last);
    return NAMES.filter((each) => each.startsWith(begun)).map((each) => before + sign + each);
  }
  const values = await valuesOf(nameOf(name), value);
  const head = before + minus + last.slice(minus.length, minus.length + name.length + 1);
  return values.map((each) => head + quoted(each));
}
