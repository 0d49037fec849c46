// Where /help explains what a page shows.
import { h } from "./dom.js";
import { link, path } from "./route.js";

const PAGES = {
  "": "operations/monitoring#attention",
  queues: "operations/monitoring#charts",
  jobs: "concepts/life-of-a-job#state-changes",
  completed: "features/finished",
  batches: "features/batches#the-page",
  errors: "features/errors",
  types: "operations/monitoring#types-and-activity",
  cron: "features/cron#watch-and-change",
  throttles: "features/throttles#what-happens",
  workers: "features/lost-workers",
  activity: "operations/audit",
  alerts: "operations/alerts",
  server: "operations/options",
};

export const HELP = link("help/");

/** The link next to the heading of a page. */
export function helpLink() {
  const about = PAGES[path().split("/")[0]] ?? "";
  return h("a", { class: "help", href: HELP + about, "aria-label": "Help on this page" }, "?");
}
