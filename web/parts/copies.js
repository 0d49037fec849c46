// What of a job can be taken elsewhere: its jid, a command for a terminal, a new job like it.
import { url } from "../api.js";
import { button, example, notice, tell } from "../ui.js";

/** What belongs to one job alone; the names as `parseExactly` has them. */
const OWN = new Set(["sjid", "sfailure", "screated_at", "senqueued_at", "sat"]);

/** The members of a new job that is like this one. */
export const asNew = (unit) =>
  Object.fromEntries(Object.entries(unit).filter(([name]) => !OWN.has(name)));

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The command that pushes the job. A password is for the person to add. */
export const curlOf = (json) =>
  `curl -H 'Content-Type: application/json' -d ${quoted(json)} ` +
  quoted(new URL(url("jobs"), document.baseURI).href);

/** Browsers let pages copy from this machine and over TLS only. Elsewhere the text is shown. */
async function copy(what, text) {
  if (!navigator.clipboard) return tell(what, example(text));
  await navigator.clipboard.writeText(text);
  notice(`${what} was copied.`);
}

export const copyButton = (label, what, text) =>
  button(label, () => copy(what, text()), {
    kind: "quiet small",
    label: label === "Copy" ? `Copy the ${what}` : label,
    isLocal: true,
  });
