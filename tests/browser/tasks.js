// Five things that people open the pages for, done by a script: how many clicks each takes, and how
// long. Typing into a field counts as one click.
//
//     MILLRACE=build/release/millrace node tests/browser/tasks.js
//
// Prints the table of docs/performance.md.
import { chromium } from "playwright-core";
import { pretend } from "./cases/worker_cases.js";
import { faktory, row, until } from "./helpers.js";
import { Server } from "./server.js";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const JOBS = 20_000;
const FAILED = 40;

/** Many jobs of many types, some of which fail. */
async function fill(test) {
  const client = await faktory(test, "worker-1");
  const jobs = Array.from({ length: JOBS }, (_, i) => ({
    jid: `job-${100_000 + i}`,
    jobtype: `Type${i % 20}`,
    queue: `queue${i % 10}`,
    args: [i],
  }));
  for (let i = 0; i < JOBS; i += 5000) await client.command("PUSHB", jobs.slice(i, i + 5000));
  for (let i = 0; i < FAILED; i += 1) {
    await client.push(`crm-${1000 + i}`, "CrmSync", "crm", [i]);
    await client.fail("crm", i % 4 === 0 ? "KeyError" : "Timeout", "no answer");
  }
  await client.push("runs-0001", "LongReport", "reports");
  await client.fetch("reports");
  await client.command("QUEUE PAUSE queue7");
  await faktory(test, "worker-2");
}

const TASKS = [
  {
    title: "why does CrmSync fail? Retry one error of it",
    async run({ page, click }) {
      await click(page.getByRole("link", { name: "Errors" }).first());
      await click(page.getByRole("link", { name: "Timeout", exact: true }));
      await page.getByRole("heading", { name: "Newest failed job" }).waitFor();
      await click(page.getByRole("button", { name: "Retry all" }));
      await click(page.getByRole("dialog").getByRole("button", { name: /^Retry/ }));
      await page.getByText(/Done: \d+ jobs retried/).waitFor();
    },
  },
  {
    title: "where is the job with this jid?",
    async run({ page, type }) {
      await type(page.getByRole("searchbox"), "job-112345");
      await page.getByText("queue5").first().waitFor();
    },
  },
  {
    title: "kill a job that runs",
    async run({ page, click }) {
      await click(page.getByRole("link", { name: "Jobs", exact: true }));
      const states = page.getByRole("navigation", { name: "States" });
      await click(states.getByRole("link", { name: /^reserved/i }));
      await click(page.getByRole("link", { name: /^LongReport/ }));
      await click(page.getByRole("button", { name: "Kill" }));
      await click(page.getByRole("dialog").getByRole("button", { name: /^Kill/ }));
      await page.locator(".badge.dead").waitFor();
    },
  },
  {
    title: "which queue is paused, and what waits in it?",
    async run({ page, click }) {
      await click(page.getByRole("link", { name: "Queues" }).first());
      await row(page, "paused").waitFor();
      await click(row(page, "paused").getByRole("link").first());
      await page.getByText("paused", { exact: false }).first().waitFor();
    },
  },
  {
    title: "which worker is stuck?",
    // Nobody waits for a quarter of an hour: the answers of the server are changed to say so.
    before: (test) => pretend(test, "worker-2"),
    async run({ page, click }) {
      await click(page.getByRole("link", { name: /worker-2/ }).first());
      await page.getByText("none finished for 23 min").first().waitFor();
    },
  },
];

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
const server = await Server.make();
const clients = [];
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(10_000);
  await fill({ server, clients });
  await until(async () => (await server.api("overview")).jobs.ready > JOBS - 100, "the jobs");
  console.log("| to find out, or to do | clicks | seconds |\n|---|---|---|");
  for (const { title, before, run } of TASKS) {
    await before?.({ page, server });
    await page.goto(server.base);
    await page.getByRole("heading").first().waitFor();
    let clicks = 0;
    const count = (act) => async (locator, text) => {
      clicks += 1;
      await act(locator, text);
    };
    const began = performance.now();
    await run({
      page,
      click: count((locator) => locator.click()),
      type: count(async (locator, text) => {
        await locator.fill(text);
        await locator.press("Enter");
      }),
    });
    const seconds = (performance.now() - began) / 1000;
    console.log(`| ${title} | ${clicks} | ${seconds.toFixed(1)} |`);
  }
} finally {
  clients.forEach((client) => client.end());
  await browser.close();
  await server.end();
}
