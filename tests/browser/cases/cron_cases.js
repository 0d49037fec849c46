// The pages of cron entries.
import assert from "node:assert/strict";
import { accessibleCases } from "../axe.js";
import { clippedAt, faktory, gone, row, until } from "../helpers.js";

const LONG = "a-name-that-somebody-has-made-far-too-long-for-any-phone-and-for-any-column";
const CONFIG = `
[[cron]]
name = "nightly"
schedule = "30 4 * * *"
timezone = "Europe/Berlin"
[cron.job]
type = "Report"
queue = "low"
args = ["all", { format = "pdf" }]
[cron.job.custom]
unique_for = 3600

[[cron]]
schedule = "*/5 * * * *"
[cron.job]
type = "Sweep"

[[cron]]
name = "${LONG}"
schedule = "0,5,10,15,20,25,30,35,40,45,50,55 8-18 * jan-jun mon-fri"
timezone = "America/Argentina/Buenos_Aires"
[cron.job]
type = "Job::With::A::Type::That::Is::Long::As::Well::And::Has::No::Space"
queue = "a-queue-with-a-name-that-is-rather-long"

[[cron]]
name = "off/for now"
schedule = "@every 90s"
enabled = false
catch_up = "all"
[cron.job]
type = "Off"
`;

/** Agrees to the question that a button asks. */
const agree = (page, verb) =>
  page.getByRole("dialog").getByRole("button", { name: verb }).click();

async function run(page, entry) {
  await page.getByRole("button", { name: entry }).click();
  await agree(page, "Run now");
}

/** A run of each outcome. */
async function runEach({ server }) {
  const post = (path) =>
    fetch(`${server.base}api/v1/cron/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
    });
  assert.equal((await post("nightly/run")).status, 201);
  assert.equal((await post("nightly/run")).status, 409);
  assert.equal((await post(`${LONG}/pause`)).status, 200);
}

export const cases = [
  ...accessibleCases("cron", CONFIG, runEach, async (page, { base }, look) => {
    await page.goto(`${base}cron`);
    await row(page, "nightly").waitFor();
    await look("list");
    await page.goto(`${base}cron/nightly`);
    await page.getByRole("heading", { name: "History" }).waitFor();
    await look("entry");
    await page.getByRole("button", { name: "Run now" }).click();
    await page.getByRole("dialog").waitFor();
    await look("question");
    await page.goto(`${base}cron/nosuch`);
    await page.getByRole("link", { name: "All cron entries" }).waitFor();
    await look("missing");
  }),
  ...accessibleCases("no cron", "", () => {}, async (page, { base }, look) => {
    await page.goto(`${base}cron`);
    await page.getByText("No job has a schedule.").waitFor();
    await look("list");
  }),
  {
    title: "cron entries are listed with schedule, zone, and next run in that zone",
    config: CONFIG,
    async run({ page, open }) {
      await open("cron");
      await row(page, "nightly").waitFor();
      for (const [name, ...texts] of [
        ["nightly", "Report", "every day at 04:30, Berlin", "30 4 * * *", "Europe/Berlin"],
        ["nightly", "low", "04:30 UTC+"],
        // Every five minutes there is a second in which it runs "now".
        ["Sweep", "every 5 minutes", "*/5 * * * *", "UTC", "default", /in \d/],
        ["off/for now", "disabled", "every 90 seconds", "@every 90s"],
      ]) {
        for (const text of texts) await row(page, name).filter({ hasText: text }).waitFor();
      }
    },
  },
  {
    title: "cron entries and their buttons fit on screens of every width",
    config: CONFIG,
    async run(test) {
      await runEach(test);
      const { page } = test;
      await test.open("cron");
      await page.getByRole("button", { name: `Resume ${LONG}` }).waitFor();
      const widths = [390, 1024, 1057, 1100, 1280, 1290, 1440];
      assert.deepEqual(await clippedAt(page, widths), []);
    },
  },
  {
    title: "the page of a cron entry shows its job and its next five runs",
    config: CONFIG,
    async run({ page, open }) {
      await open("cron");
      await page.getByRole("link", { name: "nightly" }).click();
      const runs = page.locator(".plan tbody tr");
      await runs.nth(4).waitFor();
      const texts = await runs.allInnerTexts();
      assert.equal(texts.length, 5);
      for (const text of texts)
        assert.match(
          text,
          /^(\w{3} \d{4}-\d\d-\d\d) 04:30 UTC\+([12])\s+\1 0[32]:30 UTC\s+(in |now)/,
        );
      await page.getByRole("columnheader", { name: "Europe/Berlin" }).waitFor();
      await page.getByRole("columnheader", { name: "Your time" }).waitFor();
      await page.getByText('["all",{"format":"pdf"}]').waitFor();
      await page.getByText('{"unique_for":3600}').waitFor();
      await page.getByText("It has not run yet.").waitFor();
    },
  },
  {
    title: "a cron entry is run now, and its history says what became of the job",
    config: CONFIG,
    async run(test) {
      const { page } = test;
      await test.open("cron/nightly");
      await run(page, "Run now");
      await row(page, "by hand").getByText("Ready").waitFor();
      const client = await faktory(test, "worker-1");
      const { jid } = await client.fetch("low");
      await row(page, jid).getByText("Running").waitFor();
      await client.command("ACK", { jid });
      await row(page, jid).getByText(/Done in \d/).waitFor();
      await row(page, jid).getByRole("link", { name: "Done" }).waitFor();
      await page.getByRole("img", { name: /^1 run: 1 done, took / }).waitFor();
      await test.open("cron");
      await row(page, "nightly").locator(".runs rect.done").waitFor();
      const { runs } = await test.server.api("cron/nightly");
      assert.equal(runs.length, 1);
    },
  },
  {
    title: "a run that is refused says why, at once and in the history",
    config: CONFIG,
    async run({ page, open }) {
      await open("cron");
      await run(page, "Run now nightly");
      await row(page, "nightly").getByText("Ready").waitFor();
      await run(page, "Run now nightly");
      await page.locator("#notices").getByText("NOTUNIQUE Job not unique").waitFor();
      await row(page, "nightly").getByText("refused").waitFor();
      await page.getByRole("link", { name: "nightly" }).click();
      await row(page, "refused").getByText("NOTUNIQUE Job not unique").waitFor();
    },
  },
  {
    title: "a run is not made when the question is answered with Cancel",
    config: CONFIG,
    async run({ page, open, server }) {
      await open("cron/nightly");
      await page.getByRole("button", { name: "Run now" }).click();
      await agree(page, "Cancel");
      await gone(page.getByRole("dialog"));
      assert.deepEqual((await server.api("cron/nightly")).runs, []);
    },
  },
  {
    title: "a cron entry is paused, also over a restart, and resumed",
    config: CONFIG,
    async run({ page, open, server }) {
      await open("cron");
      await page.getByRole("button", { name: "Pause nightly" }).click();
      await row(page, "nightly").locator(".badge.paused").waitFor();
      await server.kill();
      await server.start();
      await page.getByText("The server was restarted.").waitFor();
      await row(page, "nightly").locator(".badge.paused").waitFor();
      await page.getByRole("link", { name: "nightly" }).click();
      await page.getByText("None while it is paused.").waitFor();
      await page.getByRole("button", { name: "Resume" }).click();
      await page.locator(".plan tbody tr").first().waitFor();
      assert.equal((await server.api("cron/nightly")).is_paused, false);
    },
  },
  {
    title: "a cron entry with a slash in its name is as others are",
    config: CONFIG,
    async run({ page, open, server }) {
      await open("cron");
      await page.getByRole("link", { name: "off/for now" }).click();
      await page.getByText("the config file has enabled = false").waitFor();
      await page.getByRole("button", { name: "Pause" }).click();
      await page.locator("h1 .badge.paused").waitFor();
      assert.equal((await server.api("cron/off%2Ffor%20now")).is_paused, true);
    },
  },
  {
    title: "where nothing runs by a schedule the page says how to begin, and then shows it",
    async run({ page, open, server }) {
      await open("");
      await page.getByRole("heading", { name: "Attention" }).waitFor();
      await page.keyboard.press("g");
      await page.keyboard.press("c");
      await page.locator("pre", { hasText: "[[cron]]" }).waitFor();
      server.reload(CONFIG);
      await row(page, "nightly").waitFor();
      server.reload("");
      await gone(row(page, "nightly"));
    },
  },
  {
    title: "cron is shown by a read-only server, and cannot be changed",
    config: CONFIG,
    flags: ["--web-read-only"],
    async run({ page, open, server }) {
      for (const target of ["cron", "cron/nightly"]) {
        await open(target);
        await page.getByText("Europe/Berlin").first().waitFor();
        assert.equal(await page.locator("main button").count(), 0);
      }
      const { status } = await fetch(`${server.base}api/v1/cron/nightly/run`, { method: "POST" });
      assert.equal(status, 403);
    },
  },
  {
    title: "a cron entry that left the config file is gone from its page",
    config: CONFIG,
    async run({ page, open, server }) {
      await open("cron/nightly");
      await page.getByRole("heading", { name: "Next runs" }).waitFor();
      server.reload("");
      await page.getByRole("link", { name: "All cron entries" }).click();
      await page.getByText("No job has a schedule.").waitFor();
      await until(async () => (await server.api("cron")).total === 0, "no entries");
    },
  },
];
