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
  ["batch", "bid", ":"],
  ["group", "group", ":"],
  ["worker", "wid", ":"],
  ["connection", "client", ":"],
];
const SAME = { id: "job", jid: "job", bid: "batch", wid: "worker" };

export const NAMES = PARTS.map(([name, , sign]) => name + sign);

/** `args.user.id:42` is a value in the arguments; its address has `arg=user.id:42`. */
const ARGUMENT = /^args?\.(.+)$/i;

const TOKEN = /([a-z]+(?:\.[^\s:>"]+)?)([:>])("(?:[^"\\]|\\.)*"|\S*)|\S+/gi;

const unquoted = (value) =>
  value[0] === '"' ? value.replace(/^"|"$/g, "").replace(/\\(.)/g, "$1") : value;

const quoted = (value) =>
  /[\s"]/.test(value) ? `"${value.replace(/[\\"]/g, (sign) => `\\${sign}`)}"` : value;

/** The filters of a line, and what is wrong with it, if anything is. */
export function parse(line) {
  const params = {};
  const words = [...line.matchAll(TOKEN)];
  for (const [whole, name, sign, value] of words) {
    if (!name) {
      // A number or a jid, as in the field at the top.
      if (words.length === 1) return { params: { id: whole } };
      return { problem: `“${whole}” is no filter. To search in bodies, write text:${whole}` };
    }
    const [, inArguments] = ARGUMENT.exec(name) ?? [];
    if (inArguments) {
      if (sign !== ":" || !unquoted(value)) return { problem: `Write ${name}: and a value` };
      if (params.arg) return { problem: "Only one value in the arguments can be searched" };
      params.arg = `${inArguments}:${unquoted(value)}`;
      continue;
    }
    const wanted = SAME[name.toLowerCase()] ?? name.toLowerCase();
    const [, to, expected] = PARTS.find(([each]) => each === wanted) ?? [];
    if (!to) return { problem: `There is no filter “${name}”. Known are ${NAMES.join(" ")}` };
    if (sign !== expected)
      return { problem: `Write ${wanted}${expected} instead of ${name}${sign}` };
    if (!unquoted(value)) return { problem: `${name}${sign} has no value` };
    params[to] = unquoted(value);
  }
  return { params };
}

/** `user.id:42` as a part of the line. */
function writeArgument(text) {
  const [, names, value] = /^([^:]*):?(.*)$/s.exec(text);
  return `args.${names}:${quoted(value)}`;
}

/** The line for these filters. */
export const write = (params) =>
  PARTS.filter(([, to]) => params[to])
    .map(([name, to, sign]) =>
      to === "arg" ? writeArgument(params.arg) : name + sign + quoted(params[to]),
    )
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
