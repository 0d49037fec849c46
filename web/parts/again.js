// A job that was pushed again from its page, and the job of that page: the activity knows both.
import { get, part } from "../api.js";
import { h } from "../dom.js";
import { link } from "../route.js";

const PAGE = /^\/jobs\/(\d+)$/;
const NAMED_MAX = 5;

/** The numbers of the jobs that were pushed from the page of this one, and the one it came from. */
export async function loadAgain(id, signal) {
  const ask = (filter) => get("activity", { ...filter, limit: 50 }, { signal });
  const [from, to] = await Promise.all([ask({ page: `/jobs/${part(id)}` }), ask({ target: id })]);
  const pushes = ({ changes }) => changes.filter(({ action }) => action === "jobs");
  const origin = pushes(to).find(({ page }) => PAGE.test(page));
  return {
    as: pushes(from).map(({ target }) => target).filter((each) => each !== id),
    from: origin ? PAGE.exec(origin.page)[1] : null,
  };
}

const jobs = (numbers) =>
  numbers
    .slice(0, NAMED_MAX)
    .map((each, i) => [i > 0 && ", ", h("a", { href: link(`jobs/${each}`) }, `job ${each}`)]);

/** For `facts`. */
export const againFacts = ({ as, from }) => [
  as.length > 0 && ["Pushed again as", jobs(as)],
  from && ["Pushed again from", jobs([from])],
];
