// The page of workers: which of them are likely stuck.
import assert from "node:assert/strict";
import { violations } from "../axe.js";
import { faktory, row } from "../helpers.js";

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
  await page.route("**/api/v1/overview", (route) =>
    change(route, (json) => {
      const text = "is likely stuck: 6 jobs, none finished for 23 min";
      json.attention = [{ level: "notice", kind: "stuck", text, queue: null, wid }];
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
      const item = page.locator(".attention li", { hasText: "Worker worker-2 is likely stuck" });
      await item.getByRole("link", { name: "worker-2" }).click();
      await row(page, "worker-2").waitFor();
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
];
