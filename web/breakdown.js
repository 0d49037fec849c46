// Of which queues and types the jobs are that a question is about.
import { get } from "./api.js";
import { h, show } from "./dom.js";
import { count, plural } from "./format.js";

const SHOWN = 5;
/** The jobs of a whole state are looked at for so long. */
const LOOK_MS = 3000;

/** Adds the numbers of jobs by name. */
export function add(sums, rows) {
  for (const { name, jobs } of rows) sums.set(name, (sums.get(name) ?? 0) + jobs);
}

/** The most frequent names, and how many jobs have another one. */
function list(title, sums, matched) {
  const sorted = [...sums].sort((a, b) => b[1] - a[1]);
  const rows = sorted.slice(0, SHOWN);
  const others = matched - rows.reduce((sum, [, n]) => sum + n, 0);
  const line = (name, n) => h("div", {}, h("dt", {}, name), h("dd", {}, count(n)));
  return h(
    "section",
    {},
    h("h3", {}, title),
    h(
      "dl",
      {},
      rows.map(([name, n]) => line(name || "(no type)", n)),
      others > 0 && line(h("span", { class: "dim" }, "others"), others),
    ),
  );
}

/** Collects slices of `jobs/count` with `breakdown`, and shows their sums in `place`. */
export function breakdown() {
  const [queues, types] = [new Map(), new Map()];
  let matched = 0;
  const place = h("div", { class: "breakdown" });
  return {
    place,
    add(slice) {
      matched += slice.matched;
      add(queues, slice.queues);
      add(types, slice.types);
    },
    show(note) {
      if (matched === 0) return;
      show(
        place,
        list("By queue", queues, matched),
        list("By type", types, matched),
        note && h("p", { class: "dim" }, note),
      );
    },
  };
}

/** Looks at all jobs of these states, or at as many as there is time for. */
export async function lookAtAll(states, parts, signal) {
  const end = performance.now() + LOOK_MS;
  let looked = 0;
  for (const state of states) {
    let cursor = "";
    do {
      const slice = await get("jobs/count", { state, cursor, breakdown: 1 }, { signal });
      parts.add(slice);
      looked += slice.looked_at;
      cursor = slice.next;
      if (performance.now() > end) return parts.show(`Of the first ${plural(looked, "job")}.`);
    } while (cursor);
  }
  return parts.show();
}
