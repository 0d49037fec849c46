// What people say of an error: that it is muted, and a note.
import { post } from "../api.js";
import { h } from "../dom.js";
import { ago, count } from "../format.js";
import { act, ask, askText, badge } from "../ui.js";

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const TIMES = [
  [HOUR_S, "for an hour"],
  [8 * HOUR_S, "for 8 hours"],
  [DAY_S, "for a day"],
  [7 * DAY_S, "for a week"],
];

/** Until when; nothing if it is not muted. */
export const mutedBadge = ({ muted }) =>
  muted &&
  badge(
    muted.until
      ? ["muted, ends ", ago(muted.until)]
      : `muted below ${count(muted.below_jobs)} jobs`,
  );

export const noteOf = ({ note }) =>
  note &&
  h(
    "div",
    { class: "note" },
    h("span", { class: "dim" }, "Note, ", ago(note.at), ": "),
    note.text,
  );

/** `then(group)` gets what the server answers. */
export async function mute({ group, jobs }, then) {
  const twice = Math.max(2, 2 * jobs);
  const options = [
    ...TIMES.map(([seconds, words]) => h("option", { value: `seconds ${seconds}` }, words)),
    h(
      "option",
      { value: `jobs ${twice}` },
      `until ${count(twice)} jobs have it (${count(jobs)} now)`,
    ),
  ];
  const choice = h("select", { id: "mute" }, options);
  const agreed = await ask({
    title: "Mute this error?",
    text:
      "A muted error is hidden from the list of errors and from Top errors. Its jobs are not " +
      "affected: they are retried as before.",
    more: h("p", {}, h("label", { for: "mute" }, "Mute it"), " ", choice),
    verb: "Mute",
    kind: "primary",
  });
  if (!agreed) return;
  const [name, value] = choice.value.split(" ");
  const muted = await act(() => post(`errors/${group}/mute`, { [name]: Number(value) }));
  if (muted) then(muted);
}

export async function unmute({ group }, then) {
  const shown = await act(() => post(`errors/${group}/unmute`));
  if (shown) then(shown);
}

/** An empty text removes the note. */
export async function editNote({ group, note }, then) {
  const saved = await askText({
    title: "Note",
    hint: "Everyone sees it with this error, even if it comes back later. 1,000 bytes at most.",
    value: note?.text ?? "",
    verb: "Save",
    send: (text) => post(`errors/${group}/note`, { text: text.trim(), was: note?.text ?? "" }),
  });
  if (saved) then(saved);
}
