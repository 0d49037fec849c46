// The web pages in Debian's Chromium, used as a person uses them: by clicking and by the keyboard.
//
//     MILLRACE=build/release/millrace node tests/browser/run.js [part of a title]
//
// Prints a row for each case and then `N passed, N failed`.
import { chromium } from "playwright-core";
import { Server } from "./server.js";
import { cases as pageCases } from "./cases/page_cases.js";
import { cases as queueCases } from "./cases/queue_cases.js";
import { cases as viewCases } from "./cases/view_cases.js";
import { cases as staleCases } from "./cases/stale_cases.js";
import { cases as nameCases } from "./cases/name_cases.js";
import { cases as hostileCases } from "./cases/hostile_cases.js";
import { cases as nodeCases } from "./cases/node_cases.js";
import { cases as cronCases } from "./cases/cron_cases.js";
import { cases as throttleCases } from "./cases/throttle_cases.js";
import { cases as jobCases } from "./cases/job_cases.js";
import { cases as attemptCases } from "./cases/attempt_cases.js";
import { cases as batchCases } from "./cases/batch_cases.js";
import { cases as explainCases } from "./cases/explain_cases.js";
import { cases as bulkCases } from "./cases/bulk_cases.js";
import { cases as startCases } from "./cases/start_cases.js";
import { cases as queryCases } from "./cases/query_cases.js";
import { cases as completedCases } from "./cases/completed_cases.js";
import { cases as errorCases } from "./cases/error_cases.js";
import { cases as typeCases } from "./cases/type_cases.js";
import { cases as activityCases } from "./cases/activity_cases.js";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const CASE_MS_MAX = 90000;
const AT_A_TIME = 2;

async function runCase({ title, flags, config, run }, browser) {
  const server = await Server.make(flags, config);
  const context = await browser.newContext({
    bypassCSP: false,
    reducedMotion: "reduce",
    viewport: { width: 1280, height: 900 },
  });
  const page = await context.newPage();
  page.setDefaultTimeout(10000);
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.stack));
  page.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy/.test(message.text()))
      problems.push(message.text());
  });
  const clients = [];
  const late = new Promise((_, reject) => {
    setTimeout(() => reject(new Error("took too long")), CASE_MS_MAX).unref();
  });
  try {
    const open = (target) => page.goto(server.base + target);
    await Promise.race([run({ server, page, context, open, clients }), late]);
    if (problems.length > 0) throw new Error(problems.join("\n"));
    console.log(`ok      ${title}`);
    return true;
  } catch (error) {
    console.log(`FAILED  ${title}\n        ${String(error.stack).replaceAll("\n", "\n        ")}`);
    return false;
  } finally {
    clients.forEach((client) => client.end());
    await context.close();
    await server.end();
  }
}

const cases = [
  ...pageCases,
  ...queueCases,
  ...viewCases,
  ...staleCases,
  ...nameCases,
  ...hostileCases,
  ...nodeCases,
  ...cronCases,
  ...throttleCases,
  ...jobCases,
  ...attemptCases,
  ...batchCases,
  ...explainCases,
  ...bulkCases,
  ...startCases,
  ...queryCases,
  ...completedCases,
  ...errorCases,
  ...typeCases,
  ...activityCases,
];
const wanted = cases.filter(({ title }) => title.includes(process.argv[2] ?? ""));
// Debian's Chromium in a container or as root has no sandbox to offer; it opens our own pages only.
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
let passed = 0;
const waiting = [...wanted];
async function runCases() {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const isPassed = await runCase(next, browser);
    passed += isPassed ? 1 : 0;
  }
}
await Promise.all(Array.from({ length: AT_A_TIME }, runCases));
await browser.close();
console.log(`${passed} passed, ${wanted.length - passed} failed`);
process.exit(passed === wanted.length && passed > 0 ? 0 : 1);
