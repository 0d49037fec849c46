// The web pages in Debian's browsers, used as a person uses them: by clicking and by the keyboard.
//
//     MILLRACE=build/release/millrace node tests/browser/run.js [--chromium|--firefox] [PART]
//
// All cases, or those whose title has PART, in Chromium, and those of each page in
// Firefox; or in one of the two. Prints a row for each case and then `N passed, N failed`.
import { chromium, firefox } from "playwright-core";
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
import { cases as alertCases } from "./cases/alert_cases.js";
import { cases as chartCases } from "./cases/chart_cases.js";
import { cases as workerCases } from "./cases/worker_cases.js";
import { cases as loadCases } from "./cases/load_cases.js";
import { cases as loginCases } from "./cases/login_cases.js";
import { cases as tokenCases } from "./cases/token_cases.js";
import { cases as userCases } from "./cases/user_cases.js";
import { cases as helpCases } from "./cases/help_cases.js";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FIREFOX = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
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

const files = [
  pageCases,
  queueCases,
  viewCases,
  staleCases,
  nameCases,
  hostileCases,
  nodeCases,
  cronCases,
  throttleCases,
  jobCases,
  attemptCases,
  batchCases,
  explainCases,
  bulkCases,
  startCases,
  queryCases,
  completedCases,
  errorCases,
  typeCases,
  activityCases,
  alertCases,
  chartCases,
  workerCases,
  loadCases,
  loginCases,
  tokenCases,
  userCases,
  helpCases,
];
// In Firefox each page is used, and not each case of it: by WebDriver all takes twice as long.
const inFirefox = [...pageCases, ...files.slice(1).map(([first]) => first)].filter(
  ({ notInFirefox }) => !notInFirefox,
);

// Chromium in a container or as root has no sandbox to offer; it opens our own pages only.
const startChromium = () =>
  chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
// A Firefox as it is, by WebDriver BiDi: Playwright's own is not in Debian.
const startFirefox = () => firefox.launch({ channel: "moz-firefox", executablePath: FIREFOX });

let passed = 0;
let failed = 0;

async function runAll(name, start, cases) {
  const waiting = cases.filter(({ title }) => title.includes(part));
  if (waiting.length === 0) return;
  console.log(`in ${name}:`);
  const browser = await start();
  async function runCases() {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      if (await runCase(next, browser)) passed += 1;
      else failed += 1;
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, runCases));
  await browser.close();
}

const words = process.argv.slice(2);
const only = /^--(chromium|firefox)$/.test(words[0]) ? words.shift() : "";
const part = words[0] ?? "";
if (only !== "--firefox") await runAll("Chromium", startChromium, files.flat());
if (only !== "--chromium") await runAll("Firefox", startFirefox, inFirefox);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
