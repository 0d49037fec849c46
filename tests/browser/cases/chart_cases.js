// Charts of the server and of queues.
import assert from "node:assert/strict";
import { accessibleCases } from "../axe.js";
import { Faktory } from "../clients.js";
import { beanstalk, faktory, gone, row, until } from "../helpers.js";

/** Runs two jobs of a queue, and waits until the server has recorded them. */
async function record(test) {
  const client = await faktory(test, "worker-1");
  for (const jid of ["mail-0001", "mail-0002"]) {
    await client.push(jid, "SendMail", "mail", [jid]);
    await client.fetch("mail");
    await client.command("ACK", { jid });
  }
  const isRecorded = async () => {
    const { processed } = await test.server.api("series?queue=mail");
    return processed.reduce((sum, n) => sum + n, 0) === 2;
  };
  // Meters are read every ten seconds.
  await until(isRecorded, "recorded", 500);
  return client;
}

/** Runs a job well and one badly, and waits until the server has recorded both. */
async function recordBoth(test) {
  const client = await record(test);
  await client.push("fails-001", "SendMail", "mail", [], { retry: -1 });
  await client.fail("mail", "Timeout", "after 3 s");
  const isRecorded = async () => {
    const { failed } = await test.server.api("series?queue=mail");
    return failed.reduce((sum, n) => sum + n, 0) === 1;
  };
  await until(isRecorded, "recorded", 500);
}

/** Clicks on the point of the chart that is so far from its end. */
async function clickPoint(section, fromEnd) {
  const box = await section.locator("svg").boundingBox();
  await section.locator("svg").click({ position: { x: box.width * (1 - fromEnd), y: 5 } });
}

/** Clicks on points from the end of the chart on until one links to such jobs. */
async function findLink(section, name) {
  const link = section.locator(".then").getByRole("link", { name });
  await until(async () => {
    // A minute has six points.
    for (let i = 0; i < 6; i += 1) {
      await clickPoint(section, (i + 0.1) / 6);
      await section.locator(".then").waitFor();
      if (await link.isVisible()) return true;
    }
    return false;
  }, `a point with ${name}`);
  return link;
}

const chart = (page, title) =>
  page.locator("section", { has: page.getByRole("heading", { name: title, exact: true }) }).last();

export const cases = [
  {
    title: "the page of a queue shows what was recorded, and hides a line on a click",
    async run(test) {
      await record(test);
      const { page } = test;
      await test.open("queues/mail");
      const speeds = chart(page, "Jobs per second");
      await speeds.getByRole("img", { name: /Jobs per second, \d+ points?\./ }).waitFor();
      assert.equal(await speeds.locator("path.line").count(), 3);
      const processed = speeds.getByRole("button", { name: /Processed/ });
      assert.equal(await processed.getAttribute("aria-pressed"), "true");
      await processed.click();
      await speeds.locator("button[aria-pressed=false]").waitFor();
      assert.equal(await speeds.locator("path.line").count(), 2);
      // It stays hidden when the page is updated.
      await page.waitForResponse(/api\/v1\/series/);
      assert.equal(await processed.getAttribute("aria-pressed"), "false");
      await chart(page, "Queue latency").getByRole("img").waitFor();
      await chart(page, "Run time").getByRole("img").waitFor();
      await chart(page, "Ready jobs").getByRole("img").waitFor();
    },
  },
  ...accessibleCases("charts", "", recordBoth, async (page, { base }, look) => {
    await page.goto(`${base}queues/mail`);
    await findLink(chart(page, "Jobs per second"), "Failed jobs, dead");
    await chart(page, "Jobs per second").getByText("Numbers").click();
    await look("a point and its numbers");
    await page.goto(`${base}types/SendMail`);
    await chart(page, "Run time").getByRole("img").waitFor();
    await look("a type");
  }),
  {
    title: "a click on a point of a chart leads to the jobs that ended or failed then",
    async run(test) {
      await recordBoth(test);
      const { page } = test;
      await test.open("queues/mail");
      const speeds = chart(page, "Jobs per second");
      await (await findLink(speeds, "Failed jobs, dead")).click();
      await row(page, "SendMail").waitFor();
      assert.match(page.url(), /state=dead&queue=mail&failed_since_ms=\d+&failed_until_ms=\d+$/);
      await page.getByRole("link", { name: "Failed from: 20" }).waitFor();
      const query = await page.getByLabel("Query", { exact: true }).inputValue();
      assert.match(query, /failed>\d{4}-\d\d-\d\dT[\d:]+Z failed<\d{4}-\d\d-\d\dT[\d:]+Z$/);
      await page.goBack();
      await (await findLink(speeds, "Completed jobs")).click();
      await row(page, "SendMail").first().waitFor();
      assert.match(page.url(), /completed\?queue=mail&outcome=done&ended_since_ms=\d+/);
      assert.equal(await page.locator("tbody tr").count(), 2);
      await page.getByRole("link", { name: "Ended from: 20" }).click();
      await page.getByRole("link", { name: "Ended before: 20" }).click();
      await gone(page.locator(".chip"));
    },
  },
  {
    title: "a point of a chart is forgotten on a click, and the table has its links too",
    async run(test) {
      await recordBoth(test);
      const { page } = test;
      await test.open("queues/mail");
      const speeds = chart(page, "Jobs per second");
      await findLink(speeds, "Completed jobs");
      await page.waitForResponse(/api\/v1\/series/);
      await speeds.locator("path.pin").waitFor({ state: "attached" });
      await speeds.getByRole("button", { name: "Forget this point" }).click();
      await gone(speeds.locator(".then"));
      await speeds.getByText("Numbers").click();
      await speeds.locator("td").getByRole("link", { name: "Failed jobs, dead" }).first().click();
      await row(page, "SendMail").waitFor();
    },
  },
  {
    title: "a line of a query asks for jobs that failed within a time",
    async run(test) {
      const client = await faktory(test, "worker-1");
      await client.push("fails-001", "Sync", "crm");
      await client.fail("crm", "Timeout", "after 3 s");
      const { page } = test;
      await test.open("jobs?state=retrying");
      await row(page, "Sync").waitFor();
      const line = page.getByLabel("Query", { exact: true });
      const search = async (text) => {
        await line.fill(text);
        await line.press("Enter");
      };
      await search("failed<2020-01-01T00:00:00Z");
      await gone(row(page, "Sync"));
      await search("failed>2020-01-01T00:00:00Z failed<2120-01-01T00:00:00Z");
      await row(page, "Sync").waitFor();
      await search("failed>yesterday");
      await page.getByRole("alert").getByText("“yesterday” is not a time").waitFor();
    },
  },
  {
    title: "a type has a page with its numbers and charts",
    async run(test) {
      await recordBoth(test);
      const { page } = test;
      await test.open("types");
      await page.getByRole("link", { name: "SendMail", exact: true }).click();
      await page.getByRole("heading", { name: "SendMail" }).waitFor();
      await page.getByText("33 %").waitFor();
      await chart(page, "Run time").getByRole("img").waitFor();
      const speeds = chart(page, "Jobs per second");
      assert.equal(await speeds.locator("path.line").count(), 2);
      await (await findLink(speeds, "Failed jobs, dead")).click();
      await row(page, "SendMail").waitFor();
      assert.match(page.url(), /state=dead&type=SendMail&failed_since_ms/);
      await page.goto(`${test.server.base}types/Never`);
      await page.getByText("No runs of this type have been recorded").waitFor();
    },
  },
  {
    title: "an error shows when it occurred, in jobs that are gone too",
    async run(test) {
      await recordBoth(test);
      const { page, server } = test;
      const { group } = (await server.api("errors")).groups[0];
      await test.open(`errors/${group}`);
      const failures = chart(page, "Failures per 10 s");
      await findLink(failures, "Failed jobs, dead");
      // Another span is drawn in the same place, also under the pointer.
      await page.getByRole("link", { name: "1 h", exact: true }).click();
      const hour = chart(page, "Failures per 30 s");
      await hour.locator("svg").waitFor({ timeout: 60000 });
      await page.getByRole("link", { name: "15 min", exact: true }).click();
      await failures.locator("svg").waitFor();
      await page.getByRole("link", { name: "1 h", exact: true }).click();
      await hour.locator("svg").waitFor();
      await hour.locator("svg").hover();
      await hour.locator("path.at:not(.pin)").waitFor({ state: "attached" });
      await hour.getByRole("img", { name: /^Failures per 30 s/ }).waitFor();
      await page.getByRole("link", { name: "15 min", exact: true }).click();
      // The page is drawn anew when the answer comes.
      await failures.locator("svg").waitFor();
      await page.getByRole("button", { name: "Delete all" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete 1 job" }).click();
      await page.getByText("No dead or retrying jobs with this error.").waitFor();
      await failures.getByRole("img").waitFor();
      await page.goto(`${server.base}errors/0123456789abcdef`);
      await page.getByText("No failure times were recorded for this error.").waitFor();
    },
  },
  {
    title: "charts mark what was changed, and the address has the point that was clicked",
    async run(test) {
      await recordBoth(test);
      const { page, server } = test;
      for (const name of ["mail", "thumbs"]) {
        await beanstalk(test).put(name, "x");
        await fetch(`${server.base}api/v1/queues/${name}/pause`, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
        });
      }
      await test.open("queues/mail");
      await page.locator(".marks").getByText(/2 changes: .* Pause queue mail · .* Server started$/)
        .waitFor();
      const [speeds, runs] = [chart(page, "Jobs per second"), chart(page, "Run time")];
      assert.ok((await speeds.locator("path.mark").count()) > 0);
      await speeds.locator("svg").hover();
      await runs.locator("path.at").waitFor({ state: "attached" });
      await findLink(speeds, "Completed jobs");
      assert.match(page.url(), /queues\/mail#at=\d+$/);
      for (const each of [speeds, runs])
        await each.locator("path.pin").waitFor({ state: "attached" });
      // A colleague opens it.
      const address = page.url();
      await page.goto("about:blank");
      await page.goto(address);
      await speeds.locator(".then").getByRole("link", { name: "Completed jobs" }).waitFor();
      await runs.getByRole("button", { name: "Forget this point" }).click();
      await gone(speeds.locator(".then"));
      assert.ok(!page.url().includes("#"));
      await page.getByRole("link", { name: "30 d", exact: true }).click();
      await page.getByText("The first point appears within 4 h.").first().waitFor();
    },
  },
  {
    title: "a time is chosen by the pointer or by dates, is in the address, and zooms out",
    async run(test) {
      await recordBoth(test);
      const { page } = test;
      await test.open("queues/mail");
      const speeds = chart(page, "Jobs per second");
      await speeds.locator("svg").waitFor();
      const box = await speeds.locator("svg").boundingBox();
      const at = (part) => [box.x + box.width * part, box.y + box.height / 2];
      await page.mouse.move(...at(0.3));
      await page.mouse.down();
      await page.mouse.move(...at(0.6));
      await page.mouse.move(...at(0.9));
      await speeds.locator("rect.selected").waitFor({ state: "attached" });
      await page.mouse.up();
      await page.waitForURL(/queues\/mail\?from=\d+&to=\d+$/);
      const length = () => {
        const { searchParams: params } = new URL(page.url());
        return params.get("to") - params.get("from");
      };
      const before = length();
      assert.equal(await page.locator(".then").count(), 0);
      await page.getByRole("link", { name: "Zoom out" }).click();
      await until(() => length() > 1.9 * before, "twice the time");
      await page.getByText("Choose a time").click();
      const [from, to] = ["From (UTC)", "To (UTC)"].map((name) => page.getByLabel(name));
      await from.fill("2020-01-01T10:00:01");
      await to.fill("2020-01-01T09:00:01");
      await page.getByRole("button", { name: "Show", exact: true }).press("Enter");
      await page.getByText("The end must be later than the start.").waitFor();
      await to.fill("2020-01-01T11:00:01");
      await to.press("Enter");
      await page.getByRole("heading", { name: /2020-01-01 10:00:01 UTC to .* 11:00:01 UTC/ })
        .waitFor();
      await page.getByText("Nothing was recorded then.").first().waitFor();
      await page.getByRole("link", { name: "15 min", exact: true }).click();
      await speeds.locator("svg").waitFor();
      assert.match(page.url(), /queues\/mail\?span=15m$/);
    },
  },
  {
    title: "a point of a queue says what happened then",
    async run(test) {
      await recordBoth(test);
      const { page } = test;
      await test.open("queues/mail");
      await findLink(chart(page, "Jobs per second"), "Failed jobs, dead");
      const then = page.locator("section", {
        has: page.getByRole("heading", { name: /^From .* to / }),
      });
      await then.getByRole("link", { name: "Timeout 1 (dead)" }).waitFor();
      await then.getByText("Queue latency").waitFor();
      await then.getByRole("link", { name: "Timeout 1 (dead)" }).click();
      await row(page, "SendMail").waitFor();
      await page.goBack();
      await findLink(chart(page, "Jobs per second"), "Completed jobs");
      await then.getByRole("link", { name: "box:7" }).waitFor();
      await page.getByRole("button", { name: "Forget this point" }).first().click();
      await gone(then);
    },
  },
  {
    title: "a deploy is marked, and the chart of the overview survives a restart",
    async run(test) {
      const client = await faktory(test, "worker-1");
      const { page, server } = test;
      await client.push("mail-0001", "SendMail", "mail");
      await client.command("ACK", { jid: (await client.fetch("mail")).jid });
      const points = async () => (await server.api("trend")).samples.length;
      // A point comes every two seconds, and labels are looked at every five.
      const enough = (await points()) + 5;
      await until(async () => (await points()) >= enough, "the first labels are known", 800);
      const deployed = async () =>
        (await server.api("activity")).changes.some(({ action }) => action === "workers/deploy");
      assert.equal(await deployed(), false);
      const next = await Faktory.open(server.faktory, "worker-2", ["v2"]);
      test.clients.push(next);
      await until(deployed, "a deploy", 400);
      await test.open("");
      await page.locator(".marks").getByText("New worker labels: v2").waitFor();
      const before = await points();
      server.process.kill("SIGTERM");
      await server.ended;
      await server.start();
      await until(async () => (await points()) >= before, "the points are there");
    },
  },
  {
    title: "a chart has its numbers as a table, and its time zone",
    async run(test) {
      await record(test);
      const { page } = test;
      await test.open("queues/mail");
      const speeds = chart(page, "Jobs per second");
      await speeds.getByText("Numbers").click();
      await speeds.getByRole("columnheader", { name: "Failed" }).waitFor();
      assert.ok((await speeds.locator("tbody tr").count()) > 0);
      await speeds.getByText(/^Time \(UTC/).waitFor();
      await speeds.locator("svg").hover();
      // A line without width counts as hidden.
      await speeds.locator("path.at").waitFor({ state: "attached" });
      await speeds.locator(".legend").getByText(/^\d\d:\d\d:\d\d UTC$/).waitFor();
    },
  },
  {
    title: "charts show an hour or a day, and the address says which",
    async run(test) {
      await record(test);
      const { page } = test;
      await test.open("");
      await chart(page, "Jobs per second").getByRole("img").waitFor();
      const hour = page.waitForResponse(/series\?span=1h/);
      await page.getByRole("link", { name: "1 h", exact: true }).click();
      await hour;
      assert.match(page.url(), /\?span=1h$/);
      await page.locator("[aria-current]", { hasText: "1 h" }).waitFor();
      await page.goto(`${test.server.base}queues/mail?span=24h`);
      await page.locator("[aria-current]", { hasText: "24 h" }).waitFor();
    },
  },
  {
    title: "the list of queues has a small chart for each queue with runs",
    async run(test) {
      await beanstalk(test).put("reports", "x");
      await record(test);
      const { page } = test;
      await test.open("queues?sort=name");
      const spark = page.locator("tr", { hasText: "mail" }).locator("svg.spark");
      await spark.locator("path").waitFor();
      // It fills its cell.
      assert.equal(await spark.getAttribute("preserveAspectRatio"), "none");
      assert.equal(await page.locator("tr", { hasText: "reports" }).locator("svg").count(), 0);
    },
  },
];
