// The pages, and where they are.
import overview from "./pages/overview.js";
import queues from "./pages/queues.js";
import queue from "./pages/queue.js";
import completed from "./pages/completed.js";
import jobs from "./pages/jobs.js";
import job from "./pages/job.js";
import batches from "./pages/batches.js";
import batch from "./pages/batch.js";
import errors from "./pages/errors.js";
import errorGroup from "./pages/error_group.js";
import cron from "./pages/cron.js";
import cronEntry from "./pages/cron_entry.js";
import activity from "./pages/activity.js";
import alerts from "./pages/alerts.js";
import type from "./pages/type.js";
import types from "./pages/types.js";
import throttles from "./pages/throttles.js";
import views, { view } from "./pages/views.js";
import tokens from "./pages/tokens.js";
import workers from "./pages/workers.js";
import worker from "./pages/worker.js";
import server from "./pages/server.js";

/** The pages in the navigation: path, title, the key that follows `g`. */
export const NAV = [
  ["", "Overview", "o"],
  ["queues", "Queues", "q"],
  ["jobs", "Jobs", "j"],
  ["batches", "Batches", "b"],
  ["errors", "Errors", "e"],
  ["types", "Types", "y"],
  ["cron", "Cron", "c"],
  ["throttles", "Throttles", "t"],
  ["workers", "Workers", "w"],
  ["activity", "Activity", "a"],
  ["server", "Server", "s"],
];

/** The first matching row decides; its groups are the arguments of the page. */
export const PAGES = [
  [/^$/, overview, ""],
  [/^queues\/?$/, queues, "queues"],
  [/^queues\/(.+)$/, queue, "queues"],
  [/^jobs\/(\d+)$/, job, "jobs"],
  [/^jobs\/?$/, jobs, "jobs"],
  [/^completed\/?$/, completed, "jobs"],
  [/^views\/?$/, views, "jobs"],
  [/^views\/(.+)$/, view, "jobs"],
  [/^batches\/([\w-]+)$/, batch, "batches"],
  [/^batches\/?$/, batches, "batches"],
  [/^errors\/([\da-f]{16})$/, errorGroup, "errors"],
  [/^errors\/?$/, errors, "errors"],
  [/^types\/?$/, types, "types"],
  [/^types\/(.+)$/, type, "types"],
  [/^cron\/?$/, cron, "cron"],
  [/^cron\/(.+)$/, cronEntry, "cron"],
  [/^throttles\/?$/, throttles, "throttles"],
  [/^tokens\/?$/, tokens, "tokens"],
  [/^workers\/?$/, workers, "workers"],
  [/^workers\/(.+)$/, worker, "workers"],
  [/^activity\/?$/, activity, "activity"],
  [/^alerts\/?$/, alerts, "server"],
  [/^server\/?$/, server, "server"],
];

/** The addresses of the pages in Faktory's own web UI. */
export const MOVED = {
  busy: "workers",
  retries: "jobs?state=retrying",
  scheduled: "jobs?state=scheduled",
  morgue: "jobs?state=dead",
  debug: "server",
};
