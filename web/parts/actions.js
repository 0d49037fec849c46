// What people do.
import { h } from "../dom.js";
import { ago } from "../format.js";

/** What an action is called. Others are shown as they are. */
export const ACTIONS = {
  "queues/pause": "Pause queue",
  "queues/resume": "Resume queue",
  "queues/clear": "Clear queue",
  "queues/delete": "Delete queue",
  "jobs/retry": "Retry job",
  "jobs/kill": "Kill job",
  "jobs/delete": "Delete job",
  "jobs/move": "Move job",
  "jobs/change": "Change listed jobs",
  "operations/retry": "Retry all matching",
  "operations/kill": "Kill all matching",
  "operations/delete": "Delete all matching",
  "operations/move": "Move all matching",
  jobs: "Push job",
  "operations/cancel": "Cancel operation",
  "cron/run": "Run cron entry",
  "cron/pause": "Pause cron entry",
  "cron/resume": "Resume cron entry",
  "throttles/set": "Set limits",
  "throttles/reset": "Reset limits",
  "errors/mute": "Mute error",
  "errors/unmute": "Unmute error",
  "errors/note": "Edit note of error",
  "views/set": "Save view",
  "views/delete": "Delete view",
  "alerts/silence": "Silence alert",
  "alerts/unsilence": "End silence of alert",
  "alerts/test": "Test alert",
  "alerts/fired": "Alert fired",
  "alerts/resolved": "Alert resolved",
  "alerts/failed": "Alert not sent",
  "locks/free": "Free lock",
  "batches/retry": "Retry batch",
  "batches/discard": "Discard batch",
  "batches/accept": "Accept lost members",
  "batches/delete": "Delete batch",
  "workers/quiet": "Quiet workers",
  "workers/stop": "Stop workers",
  "workers/deploy": "New worker labels:",
  mutate: "MUTATE",
  flush: "FLUSH",
  "server/start": "Server started",
  "users/reload": "Users changed",
  "server/lead": "Server took over",
  login: "Log in",
  logout: "Log out",
};

const DONE = {
  "queues/pause": "paused",
  "queues/resume": "resumed",
  "queues/clear": "cleared",
  "queues/delete": "deleted",
  "operations/retry": "jobs retried",
  "operations/kill": "jobs killed",
  "operations/delete": "jobs deleted",
  "operations/move": "jobs moved",
  "throttles/set": "limits set",
  "throttles/reset": "limits reset",
  "jobs/retry": "retried",
  "jobs/kill": "killed",
  "jobs/delete": "deleted",
  "jobs/move": "moved",
  jobs: "pushed",
  "locks/free": "lock freed",
};

/** "killed by ana, 3 min ago", as a fact; nothing where nobody is known to have changed it. */
export const lastChange = (change) =>
  change && [
    "Last change",
    [
      `${DONE[change.action] ?? change.action} by `,
      h("span", { class: "name" }, change.user || change.client || change.from),
      ", ",
      ago(change.at),
    ],
  ];
