// Who has changed what.
import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { accessibleCases } from "../axe.js";
import { faktory, row } from "../helpers.js";

/** A worker's client that kills dead jobs, and a page that pauses a queue. */
async function fill(test) {
  const client = await faktory(test, "worker-1");
  await client.push("mail-0001", "SendMail", "mail", [1]);
  await client.push("dies-0001", "Dies", "broken", [], { retry: -1 });
  await client.fail("broken", "KeyError", "no key");
  await client.command("MUTATE", {
    cmd: "discard",
    target: "dead",
    filter: { jobtype: "Dies" },
  });
}

export const cases = [
  ...accessibleCases("activity", "", fill, async (page, { base }, look) => {
    await page.goto(`${base}activity`);
    await row(page, "MUTATE").waitFor();
    await look("list");
  }),
  {
    title: "a change in the UI and one by MUTATE are listed with who made them",
    async run(test) {
      await test.open("activity");
      const { page } = test;
      await row(page, "Server started").waitFor();
      await fill(test);
      await row(page, 'delete dead jobs with type "Dies"').waitFor();
      const [, what, , changed, from] = await row(page, "MUTATE").locator("td").allInnerTexts();
      assert.equal(what, "MUTATE");
      assert.equal(changed, "1");
      assert.match(from, /^worker-1\s+127\.0\.0\.1$/);
      await page.goto(`${test.server.base}queues/mail`);
      await page.getByRole("button", { name: "Pause" }).click();
      await page.locator("dialog").getByRole("button", { name: "Pause" }).click();
      await page.getByText("mail is paused.").waitFor();
      await page.getByRole("link", { name: "Activity" }).click();
      const pause = row(page, "Pause queue");
      await pause.getByRole("link", { name: "mail", exact: true }).waitFor();
      await pause.getByText("until it is resumed").waitFor();
      await pause.getByRole("link", { name: "queues/mail" }).waitFor();
      await row(page, "Pause queue").getByText("web UI").waitFor();
      await row(page, "Pause queue").getByText("127.0.0.1").waitFor();
    },
  },
  {
    title: "changes are filtered by time, which is written as a time or an age",
    async run(test) {
      const { page } = test;
      await fill(test);
      await test.open("activity");
      await row(page, "MUTATE").waitFor();
      await page.getByLabel("Until").fill("2020-01-01T00:00Z");
      await page.getByLabel("Until").press("Enter");
      await page.getByText("No more changes.").waitFor();
      assert.match(page.url(), /until_ms=1577836800000$/);
      assert.equal(await page.getByLabel("Until").inputValue(), "2020-01-01T00:00:00Z");
      await page.getByLabel("Until").fill("");
      await page.getByLabel("Until").press("Enter");
      await page.getByLabel("Since").fill("1h");
      await page.getByLabel("Since").press("Enter");
      await row(page, "MUTATE").waitFor();
      await page.getByLabel("Since").fill("yesterday");
      await page.getByLabel("Since").press("Enter");
      await page.getByText("“yesterday” is not a time").waitFor();
    },
  },
  {
    title: "changes are filtered and exported, and a queue and a job tell their last one",
    async run(test) {
      const { page, server } = test;
      await fill(test);
      await page.goto(`${server.base}queues/mail`);
      await page.getByRole("button", { name: "Pause" }).click();
      await page.locator("dialog").getByRole("button", { name: "Pause" }).click();
      await page.getByText("paused by web UI").waitFor();
      const { jobs } = await server.api("jobs?state=ready");
      const killed = await fetch(`${server.base}api/v1/jobs/${jobs[0].id}/kill`, {
        method: "POST",
        headers: { Authorization: `Basic ${btoa("ana:any")}` },
      });
      assert.equal(killed.status, 200);
      await page.goto(`${server.base}jobs/${jobs[0].id}`);
      await page.getByText("killed by ana").waitFor();
      await page.goto(`${server.base}activity`);
      await page.getByLabel("Action").selectOption({ label: "Pause queue" });
      await row(page, "MUTATE").waitFor({ state: "detached" });
      await row(page, "Pause queue").last().waitFor();
      assert.match(page.url(), /action=queues%2Fpause/);
      const download = page.waitForEvent("download");
      await page.getByRole("link", { name: "Export as NDJSON" }).click();
      const lines = await text(await (await download).createReadStream());
      assert.equal(JSON.parse(lines).action, "queues/pause");
    },
  },
  {
    title: "refused attempts are listed with their number",
    flags: ["--web-read-only"],
    async run(test) {
      const { page, server } = test;
      await page.goto(`${server.base}activity`);
      const refused = await fetch(`${server.base}api/v1/queues/mail/pause`, { method: "POST" });
      assert.equal(refused.status, 403);
      await row(page, "Pause queue").getByText("refused", { exact: true }).waitFor();
      await page.getByLabel("Outcome").selectOption("0");
      await row(page, "Pause queue").waitFor({ state: "detached" });
      await row(page, "Server started").waitFor();
    },
  },
];
