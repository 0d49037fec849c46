// The line in which jobs are searched: `state:dead type:Send* error:"timed out" age>1h`. Each part
// is one of the filters in the address.

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
/** Milliseconds since 1970 in the address, readable in the line. */
const TIMES = new Set(["failed_since_ms", "failed_until_ms"]);
const SAME = { id: "job", jid: "job", bid: "batch", wid: "worker" };

export const NAMES = PARTS.map(([name, , sign]) => name + sign);

const QUOTED = /"(?:[^"\\]|\\.)*"/.source;
/** Names in arguments, with dots between them. */
const NAMED = `(?:[^\\s.:>"]+|${QUOTED})`;
const PATH = `${NAMED}(?:\\.${NAMED})*`;
/** `user.id:42`; the server reads what it says. */
const ARGUMENTS = new RegExp(`${PATH}:(?:${QUOTED}(?!\\S)|[^\\s"]\\S*)`, "g");

const TOKEN = new RegExp(`([a-z]+)(\\.${PATH})?([:<>=])(${QUOTED}|\\S*)|\\S+`, "gi");

const unquoted = (value) =>
  value[0] === '"' ? value.replace(/^"|"$/g, "").replace(/\\(.)/g, "$1") : value;

const quoted = (value) =>
  /[\s"]/.test(value) ? `"${value.replace(/[\\"]/g, (sign) => `\\${sign}`)}"` : value;

const isKnown = (name) =>
  PARTS.some(([each]) => each === (SAME[name.toLowerCase()] ?? name.toLowerCase()));

/** Words without the name of a filter: one is a number or a jid, others are for bodies. */
function readWords(words, params) {
  const negated = words.find((each) => /^-[a-z]+[:<>=]/i.test(each));
  if (negated) return { problem: `Filters cannot be negated: remove “${negated}”` };
  if (words.length === 1 && Object.keys(params).length === 0 && !words[0].includes("@"))
    return { params: { id: words[0] } };
  if (params.text) return { problem: `Put all words in text:"…", including “${words.join(" ")}”` };
  return { params: { ...params, text: unquoted(words.join(" ")) } };
}

/** The filters of a line, and what is wrong with it, if anything is. */
export function parse(line) {
  const params = {};
  const words = [];
  for (const [whole, name, inside, written, value] of line.matchAll(TOKEN)) {
    // The names of types may have "::".
    const isWord = !inside && !isKnown(name ?? "") && (written === "=" || value?.[0] === ":");
    if (!name || isWord) {
      words.push(whole);
      continue;
    }
    const sign = written === "=" ? ":" : written;
    if (inside && /^args?$/i.test(name)) {
      if (sign !== ":" || !value) return { problem: `Write ${name}${inside}: and a value` };
      // All of them must hold. Quotes stay: the server reads them.
      params.arg = [params.arg, `${inside.slice(1)}:${value}`].filter(Boolean).join(" ");
      continue;
    }
    const wanted = SAME[name.toLowerCase()] ?? name.toLowerCase();
    const parts = inside ? [] : PARTS.filter(([each]) => each === wanted);
    const [, to, expected] = parts.find((each) => each[2] === sign) ?? parts[0] ?? [];
    if (!to)
      return {
        problem: `There is no filter “${name}${inside ?? ""}”. Known are ${NAMES.join(" ")}`,
      };
    if (sign !== expected)
      return { problem: `Write ${wanted}${expected} instead of ${name}${written}` };
    if (!unquoted(value)) return { problem: `${name}${sign} has no value` };
    params[to] = TIMES.has(to) ? String(Date.parse(unquoted(value))) : unquoted(value);
    if (params[to] === "NaN")
      return { problem: `“${unquoted(value)}” is not a time, as 2026-11-26T10:05:00Z` };
  }
  return words.length > 0 ? readWords(words, params) : { params };
}

/** "2026-11-26T10:05:00Z"; what is no number stays. */
function writeTime(ms) {
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

/** The line for these filters. */
export const write = (params) =>
  PARTS.filter(([, to]) => params[to])
    .map((each) => writePart(each, params[each[1]]))
    .join(" ");

/**
 * Lines that could be meant, when the last part of `line` is not complete.
 * `valuesOf(name, beginning)` gives the values for a name.
 */
export async function complete(line, valuesOf) {
  const [, before, last] = /^(.*?)(\S*)$/.exec(line);
  const [, name, value] = /^([a-z]+)[:>](.*)$/i.exec(last) ?? [];
  if (!name) return NAMES.filter((each) => each.startsWith(last)).map((each) => before + each);
  const values = await valuesOf(SAME[name] ?? name, value);
  return values.map((each) => `${before}${last.slice(0, name.length + 1)}${quoted(each)}`);
}
