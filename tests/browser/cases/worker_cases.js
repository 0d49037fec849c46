// The page of workers: which of them are likely stuck.
import assert from "node:assert/strict";
import { violations } from "../axe.js";
import { clippedAt, faktory, row } from "../helpers.js";

const ago = (minutes) => new Date(Date.now() - minutes * 60_000).toISOString();

/** Lets the answers of the server say that this worker is stuck. */
export async function pretend({ page }, wid) {
  const change = async (route, edit) => {
    // An answer in full, even if nothing changed.
    const headers = { ...route.request().headers(), "if-none-match": "" };
    const response = await route.fetch({ headers });
    const json = await response.json();
    edit(json);
    await route.fulfill({ response, json });
  };
  await page.route("**/api/v1/workers?*", (route) =>
    change(route, (json) => {
      for (const each of json.workers) if (each.wid === wid) each.stuck_since = ago(23);
      if (route.request().url().includes("stuck=1"))
        json.workers = [...json.workers, { ...STUCK, wid, stuck_since: ago(23) }];
    }),
  );
  await page.route(`**/api/v1/workers/${wid}`, (route) =>
    change(route, (json) => {
      json.stuck_since = ago(23);
    }),
  );
  await page.route("**/api/v1/overview", (route) =>
    change(route, (json) => {
      const text = "is likely stuck: 6 jobs, none finished for 23 min";
      const about = { queue: null, wid, worker: "box:7" };
      json.attention = [{ level: "notice", kind: "stuck", text, ...about }];
    }),
  );
}

const STUCK = {
  hostname: "box",
  pid: 7,
  labels: [],
  rss_bytes: 0,
  state: "running",
  jobs: 6,
  queues: ["mail"],
  connections: 1,
  started_at: ago(60),
  last_beat_at: ago(0),
};

export const cases = [
  {
    title: "a worker that is likely stuck is the first, and is named on the overview",
    async run(test) {
      await faktory(test, "worker-1");
      await faktory(test, "worker-2");
      await pretend(test, "worker-2");
      const { page } = test;
      await test.open("workers");
      await row(page, "worker-2").getByText("6 jobs, none finished for 23 min").waitFor();
      const names = await page.locator("tbody tr").allInnerTexts();
      assert.match(names[0], /worker-2/);
      assert.match(names[1], /worker-1/);
      assert.equal(names.length, 2);
      assert.deepEqual(await violations(page), []);
      await test.open("");
      const item = page.locator(".attention li", { hasText: "Worker box:7 is likely stuck" });
      await item.getByRole("link", { name: "box:7" }).click();
      await page.waitForURL(/workers\/worker-2$/);
      await page.getByText("No job has finished for 23 min.").waitFor();
    },
  },
  {
    title: "a running job has the usual length of its runs next to its age",
    async run(test) {
      const client = await faktory(test, "worker-1");
      for (const jid of ["mail-0001", "mail-0002"]) await client.push(jid, "SendMail", "mail");
      await client.fetch("mail");
      await client.command("ACK", { jid: "mail-0001" });
      await client.fetch("mail");
      const { page } = test;
      await test.open("workers");
      await page.getByRole("columnheader", { name: "Usual run" }).waitFor();
      await row(page, "SendMail").getByText(/^≤ /).waitFor();
    },
  },
  {
    title: "the page of a worker has what it runs, what it has run, and stays when it has left",
    async run(test) {
      const client = await faktory(test, "worker-1");
      for (const jid of ["mail-0001", "mail-0002", "mail-0003"])
        await client.push(jid, "SendMail", "mail");
      for (const jid of ["mail-0001", "mail-0002"]) {
        await client.fetch("mail");
        if (jid === "mail-0001") await client.command("ACK", { jid });
        else await client.command("FAIL", { jid, errtype: "Oops", message: "no" });
      }
      await client.fetch("mail");
      const { page } = test;
      await test.open("workers");
      await row(page, "worker-1").getByRole("link", { name: /:\d+$/ }).click();
      await page.waitForURL(/workers\/worker-1$/);
      const fact = (name) => page.locator("dl.facts > div", { hasText: name });
      await fact("Processed").getByText("2 since it connected").waitFor();
      await fact("Failed").getByText("1 since it connected").waitFor();
      await page.getByRole("region", { name: "Running jobs" }).getByText("SendMail").waitFor();
      await page.getByRole("region", { name: "Completed jobs" }).getByText("mail-0001").waitFor();
      assert.deepEqual(await violations(page), []);
      await page.setViewportSize({ width: 390, height: 844 });
      assert.deepEqual(await clippedAt(page, [320, 390]), []);
      await page.getByRole("button", { name: "Quiet…" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Quiet 1 worker" }).click();
      await page.locator("h1", { hasText: "quiet" }).waitFor();
      await client.end();
      await page.getByText("not connected").waitFor();
      await page.getByRole("region", { name: "Completed jobs" }).getByText("mail-0001").waitFor();
    },
  },
];
