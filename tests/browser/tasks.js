// Twelve things that people open the pages for, done by a script: how many clicks each takes, and
// how long. Typing into a field counts as one click.
//
//     MILLRACE=build/release/millrace node tests/browser/tasks.js
//
// Prints the table of docs/internals/performance/tasks.csv.
import { chromium } from "playwright-core";
import { pretend } from "./cases/worker_cases.js";
import { faktory, find, row, until } from "./helpers.js";
import { Server } from "./server.js";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const JOBS = 20_000;
const FAILED = 40;
const CONFIG = `
[[cron]]
name = "nightly"
schedule = "30 4 * * *"
[cron.job]
type = "Report"
queue = "low"
`;

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
  await client.push("dead-0001", "Invoice", "billing", [{ amount: 1 }], { retry: -1 });
  await client.fail("billing", "KeyError", "no amount");
  const success = { jobtype: "Done", queue: "callbacks", args: [] };
  const bid = await client.command("BATCH NEW", { description: "import of May", success });
  await client.push("row-00001", "ImportRow", "partners", [1], { custom: { bid } });
  await client.command("BATCH COMMIT", bid);
  await client.command("QUEUE PAUSE partners");
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
      await type("job-112345");
      await page.getByText("queue5").first().waitFor();
    },
  },
  {
    title: "kill a job that runs",
    async run({ page, click }) {
      await click(page.getByRole("link", { name: "Jobs", exact: true }));
      const states = page.getByRole("navigation", { name: "States" });
      await click(states.getByRole("link", { name: /running/i }));
      await click(page.getByRole("link", { name: /^LongReport/ }));
      await click(page.getByRole("button", { name: "Kill" }));
      await click(page.getByRole("dialog").getByRole("button", { name: /^Kill/ }));
      await page.locator(".badge.dead").waitFor();
    },
  },
  {
    title: "which batch is blocked, and by what?",
    async run({ page, click }) {
      await click(page.getByRole("link", { name: "Batches" }).first());
      await page.getByText(/blocked by .*ImportRow/i).first().waitFor();
    },
  },
  {
    title: "what happened in queue crm at a given time?",
    // Meters are read every ten seconds.
    before: ({ server }) =>
      until(
        async () => (await server.api("series?queue=crm")).failed.some((n) => n > 0),
        "the failures are recorded",
        400,
      ),
    async run({ page, click, clicked, type }) {
      await type("crm");
      const svg = page.locator(".charts svg").first();
      await svg.waitFor();
      const { width } = await svg.boundingBox();
      const errors = page.getByText("KeyError 10 (retrying)");
      // A person sees the peak; the script looks for it, and counts the click that finds it.
      clicked();
      for (let i = 11; !(await errors.isVisible()); i = (i + 11) % 12) {
        await svg.click({ position: { x: (width * (i + 0.1)) / 12, y: 5 } });
        await page.waitForTimeout(300);
      }
      await click(errors);
      await row(page, "CrmSync").first().waitFor();
    },
  },
  {
    title: "pause a queue, and watch",
    async run({ page, click, type }) {
      await type("queue3");
      await click(page.getByRole("button", { name: "Pause", exact: true }));
      await click(page.getByRole("dialog").getByRole("button", { name: "Pause" }));
      await page.locator("h1 .badge.paused").waitFor();
    },
  },
  {
    title: "correct a dead job, and push it",
    async run({ page, click, type }) {
      await type("dead-0001");
      await click(page.getByRole("link", { name: /^Invoice/ }));
      await click(page.getByRole("button", { name: "Push again…" }));
      const text = page.locator("#ask-text");
      await text.fill((await text.inputValue()).replace('"amount": 1', '"amount": 2'));
      await click(page.getByRole("button", { name: "Push the job" }));
      await page.getByText(/Job \d+ was pushed/).waitFor();
      await page.getByText("Pushed again as").waitFor();
    },
  },
  {
    title: "who has changed what?",
    async run({ page, click }) {
      await click(page.getByRole("link", { name: "Activity" }));
      await row(page, "Pause queue").first().waitFor();
    },
  },
  {
    title: "run a cron entry, and see its outcome",
    async run({ page, click, type }) {
      await type("nightly");
      await click(page.getByRole("button", { name: "Run now" }));
      await click(page.getByRole("dialog").getByRole("button", { name: "Run now" }));
      await row(page, "by hand").getByText("Ready").waitFor();
    },
  },
  {
    title: "limit a queue to 5 jobs at a time",
    async run({ page, click }) {
      await click(page.getByRole("link", { name: "Throttles" }));
      await click(page.getByRole("button", { name: "Add limits…" }));
      await page.getByLabel("Queue, or type").fill("queue1");
      await page.getByLabel("Jobs at a time", { exact: true }).fill("5");
      await page.getByLabel("Timeout in seconds").fill("60");
      await click(page.getByRole("button", { name: "Save" }));
      await page.getByText("The limits of queue1 are set.").waitFor();
    },
  },
  {
    title: "which worker is stuck?",
    // Nobody waits for a quarter of an hour: the answers of the server are changed to say so.
    before: (test) => pretend(test, "worker-2"),
    async run({ page, click }) {
      await click(page.locator(".attention").getByRole("link", { name: "box:7" }));
      await page.getByText("No job has finished for 23 min.").waitFor();
    },
  },
  {
    title: "first run: push a first job",
    onNew: true,
    async run({ page, click }) {
      await page.getByRole("heading", { name: "First steps" }).waitFor();
      await click(page.getByRole("button", { name: "Push a test job" }));
      await page.getByText("Job 1 was pushed to the queue default.").waitFor();
    },
  },
];

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
const server = await Server.make([], CONFIG);
const empty = await Server.make();
const clients = [];
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(10_000);
  await fill({ server, clients });
  await until(async () => (await server.api("overview")).jobs.ready > JOBS - 100, "the jobs");
  console.log("task,clicks,seconds");
  for (const { title, before, onNew, run } of TASKS) {
    await before?.({ page, server });
    await page.goto((onNew ? empty : server).base);
    await page.getByRole("heading").first().waitFor();
    let clicks = 0;
    const count = (act) => async (what) => {
      clicks += 1;
      await act(what);
    };
    const began = performance.now();
    await run({
      page,
      click: count((locator) => locator.click()),
      clicked: count(() => {}),
      type: count((text) => find(page, text)),
    });
    const seconds = (performance.now() - began) / 1000;
    console.log(`${JSON.stringify(title)},${clicks},${seconds.toFixed(1)}`);
  }
} finally {
  clients.forEach((client) => client.end());
  await browser.close();
  await server.end();
  await empty.end();
}
