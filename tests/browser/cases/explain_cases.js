// What pages say must be true and clear: of times, of errors, of jobs that moved, of the server.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { violations } from "../axe.js";
import { beanstalk, faktory, fill, gone, row } from "../helpers.js";

/** The flag that asks for a password. */
function passwordFlag({ directory }, password) {
  const file = path.join(directory, "password");
  fs.writeFileSync(file, password);
  return `--password-file=${file}`;
}

/** A page in a browser of its own. */
async function otherPage({ context }, options) {
  const other = await context.browser().newContext({ reducedMotion: "reduce", ...options });
  const page = await other.newPage();
  return { other, page };
}

export const cases = [
  {
    title: "a queue whose workers are all at work does not say that it has none",
    async run(test) {
      await fill(test);
      const { page } = test;
      const worker = await faktory(test, "worker-2");
      await worker.push("busy-0001", "Works", "busy");
      await worker.fetch("busy");
      await test.open("queues/busy");
      await page.locator(".facts div", { hasText: "Workersbox:7" }).waitFor();
      await test.open("queues/mail");
      await page.locator(".facts div", { hasText: "Workersnone" }).waitFor();
      const tube = beanstalk(test);
      await tube.command("watch thumbs");
      await test.open("queues/thumbs");
      await page.getByText("1 watching").waitFor();
    },
  },
  {
    title: "the filter of an error group has the name of the group",
    async run(test) {
      const client = await faktory(test, "worker-1");
      await client.push("group-001", "Fails", "broken");
      await client.fail("broken", "Timeout", "after 31 s");
      const [{ group }] = (await test.server.api("errors")).groups;
      const { page } = test;
      await test.open(`jobs?state=retrying&group=${group}`);
      const chip = page.locator(".chip");
      await chip.getByText("Error group: Timeout: after 31 s", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Retry all that match" }).click();
      await page
        .getByRole("dialog", { name: "with error group “Timeout: after 31 s”" })
        .getByRole("button", { name: "Retry 1 job" })
        .click();
      await page.getByText("No retrying job matches.").waitFor();
      assert.doesNotMatch(await page.locator("body").textContent(), new RegExp(group));
      await page.reload();
      await chip.getByText("Error group", { exact: true }).waitFor();
      await chip.click();
      await gone(chip);
    },
  },
  {
    title: "letters that a client has escaped are shown as letters, and found",
    async run(test) {
      const client = await faktory(test);
      const push = (jid, args) =>
        client.command("PUSH", `{"jid":"${jid}","jobtype":"Names","args":${args}}`);
      await push("name-0001", '["\\u674e \\ud83d\\ude00","\\u0022\\u0007\\\\u674e"]');
      await push("name-0002", '["Smith"]');
      const { page } = test;
      await test.open("jobs?text=李");
      await row(page, '["李 😀","\\u0022\\u0007\\\\u674e"]').waitFor();
      assert.equal(await row(page, "Names").count(), 1);
    },
  },
  {
    title: "a server that asks for a password since its restart sends people to log in",
    async run(test) {
      await fill(test);
      const { page, server, context } = test;
      await test.open("queues");
      await row(page, "mail").waitFor();
      await server.kill();
      server.flags = [passwordFlag(server, "secret")];
      await server.start();
      await page.getByText("Please log in again.").waitFor();
      await page.getByRole("button", { name: "Not updating" }).waitFor();
      await context.setHTTPCredentials({ username: "", password: "secret" });
      await page.getByRole("link", { name: "Log in" }).click();
      await row(page, "mail").waitFor();
      assert.equal(await page.getByRole("alert").count(), 0);
    },
  },
  {
    title: "a browser that was never here logs in at a link to a queue",
    async run(test) {
      await fill(test);
      const { server, page, context } = test;
      await server.kill();
      server.flags = [passwordFlag(server, "secret")];
      await server.start();
      await context.setHTTPCredentials({ username: "", password: "secret" });
      await test.open("queues/mail?span=1h");
      await page.getByRole("heading", { name: "mail" }).waitFor();
      assert.equal(page.url(), `${server.base}queues/mail?span=1h`);
      assert.equal(await page.getByRole("alert").count(), 0);
    },
  },
  {
    title: "a wrong password is said to be wrong, on a page like all others",
    async run(test) {
      const { server } = test;
      await server.kill();
      server.flags = [passwordFlag(server, "secret")];
      await server.start();
      for (const [authorization, problem] of [
        [undefined, "A password is needed"],
        [`Basic ${btoa("me:guess")}`, "The password is wrong"],
      ]) {
        const { other, page } = await otherPage(test, { bypassCSP: true });
        // What a browser shows after its dialog is closed.
        await page.route("**/jobs?*", async (route) => {
          const headers = { ...route.request().headers(), ...(authorization && { authorization }) };
          const response = await route.fetch({ headers });
          assert.equal(response.status(), 401);
          const { "www-authenticate": challenge, ...rest } = response.headers();
          assert.match(challenge, /^Basic /);
          await route.fulfill({ response, headers: rest });
        });
        await page.goto(`${server.base}jobs?state=dead`);
        await page.getByRole("heading", { name: problem }).waitFor();
        const border = await page
          .locator("div.empty")
          .evaluate((box) => getComputedStyle(box).borderTopStyle);
        assert.equal(border, "dashed");
        assert.deepEqual(await violations(page), []);
        await other.close();
      }
    },
  },
  {
    title: "a server that stands still shows how old the numbers are",
    async run(test) {
      const { page, server } = test;
      await test.open("");
      await page.getByRole("button", { name: "Live" }).waitFor();
      server.process.kill("SIGSTOP");
      await page.getByRole("button", { name: /^[3-6] s old$/ }).waitFor();
      server.process.kill("SIGCONT");
      await page.getByRole("button", { name: "Live" }).waitFor();
    },
  },
  {
    title: "without the server nothing can be changed, and everything can be read",
    async run(test) {
      await fill(test);
      const { page, server } = test;
      await test.open("jobs/1");
      await page.getByRole("button", { name: "Kill" }).waitFor();
      await server.kill();
      await page.getByRole("button", { name: "Offline" }).waitFor();
      for (const name of ["Kill", "Delete"])
        assert.ok(await page.getByRole("button", { name }).isDisabled(), name);
      await page.getByRole("button", { name: "Text" }).click();
      await page.locator("pre", { hasText: "mail-0001" }).waitFor();
      await server.start();
      await page.getByRole("button", { name: "Live" }).waitFor();
      assert.ok(await page.getByRole("button", { name: "Kill" }).isEnabled());
    },
  },
  {
    title: "a question that is answered when the server is gone sends nothing",
    async run(test) {
      await fill(test);
      const { page, server } = test;
      await test.open("jobs/1");
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete 1 job" }).waitFor();
      await server.kill();
      await page.getByText("Offline").waitFor();
      const sent = [];
      page.on("request", (request) => sent.push(request.method()));
      await page.getByRole("button", { name: "Delete 1 job" }).click();
      await page.locator(".notice.bad", { hasText: "cannot be reached" }).waitFor();
      assert.ok(!sent.includes("POST"));
    },
  },
  {
    title: "times name their zone, and one switch shows all of them in UTC",
    async run(test) {
      const client = await faktory(test);
      await client.push("time-0001", "Timed", "mail", [], { at: "2098-12-31T18:34:49Z" });
      const { other, page } = await otherPage(test, { timezoneId: "Asia/Kolkata" });
      const hover = () => row(page, "Timed").locator("time").getAttribute("title");
      await page.goto(`${test.server.base}jobs?state=scheduled`);
      await row(page, "2099-01-01").waitFor();
      assert.match(await hover(), /^2099-01-01 00:04:49 UTC\+5:30 · 2098-12-31T18:34:49/);
      await page.getByRole("button", { name: "Local" }).click();
      await row(page, "2098-12-31").waitFor();
      assert.match(await hover(), /^2098-12-31 18:34:49 UTC · /);
      await page.goto(test.server.base);
      await page.getByText("Time (UTC)").first().waitFor();
      await page.getByText("Day (UTC)").waitFor();
      await page.keyboard.press("u");
      await page.getByText("Time (UTC+5:30)").first().waitFor();
      await page.getByText("Day (UTC)").waitFor();
      await other.close();
    },
  },
  {
    title: "on a phone a whole jid can be read, and lines of bytes are lines",
    async run(test) {
      const client = await faktory(test);
      const jid = "0123456789abcdef0123456789abcdef0123456789abcdef";
      await client.push(jid, "Long", "mail", ["x".repeat(100)]);
      const { page } = test;
      await page.setViewportSize({ width: 390, height: 844 });
      await test.open("jobs/1");
      const code = page.locator(".facts code", { hasText: jid });
      const { right, cut } = await code.evaluate((node) => ({
        right: node.getBoundingClientRect().right,
        cut: node.parentElement.scrollWidth > node.parentElement.clientWidth,
      }));
      assert.ok(right <= 390 && !cut);
      await page.getByRole("button", { name: "Hex" }).click();
      const dump = page.locator("pre.hex");
      const lines = (await dump.textContent()).split("\n").length;
      const size = await dump.evaluate((node) => ({
        lines: node.clientHeight / parseFloat(getComputedStyle(node).lineHeight),
        isWide: node.parentElement.scrollWidth > node.parentElement.clientWidth,
      }));
      assert.equal(Math.round(size.lines), lines);
      assert.equal(size.isWide, false);
    },
  },
  {
    title: "a list that a change has emptied says where its jobs are",
    async run(test) {
      const client = await faktory(test, "worker-1");
      for (const i of [1, 2, 3]) {
        await client.push(`moves-00${i}`, "Moves", "broken", [], { retry: -1 });
        await client.fail("broken", "Timeout", "late");
      }
      const { page } = test;
      const dialog = page.getByRole("dialog");
      await test.open("jobs?state=dead&queue=broken");
      await row(page, "Moves").first().getByRole("checkbox").check();
      await page.getByRole("button", { name: "Retry 1" }).click();
      await dialog.getByRole("button", { name: "Retry 1 job" }).click();
      await page.getByText("1 job ready now.").waitFor();
      await page.getByRole("button", { name: "Retry all that match" }).click();
      await dialog.getByRole("button", { name: "Retry 2 jobs" }).click();
      await page.getByText("No dead job matches.").waitFor();
      await page.getByText("2 jobs are ready now: ").waitFor();
      assert.equal(await page.getByText("under Completed").count(), 0);
      await page.getByRole("link", { name: "show ready jobs" }).click();
      await row(page, "Moves").first().waitFor();
      assert.match(page.url(), /queue=broken&state=ready|state=ready&queue=broken/);
    },
  },
  {
    title: "an operation that has ended is not said to have refused its end",
    async run(test) {
      const { page } = test;
      const running = { id: 9, title: "clear mail", phase: "running", changed: 3 };
      const json = { ...running, looked_at: 3, to_look_at: 8 };
      let isOver = false;
      await test.open("queues");
      await row(page, "default").waitFor();
      await page.route("**/api/v1/operations", (route) =>
        route.fulfill({ json: { operations: [json] } }),
      );
      await page.route("**/api/v1/operations/9", (route) =>
        route.fulfill({ json: { ...json, phase: isOver ? "done" : "running" } }),
      );
      await page.route("**/api/v1/operations/9/cancel", (route) => {
        isOver = true;
        return route.fulfill({ status: 409, json: { error: "this operation has ended already" } });
      });
      await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
      await page.locator(".operation").getByRole("button", { name: "Cancel" }).click();
      await page.getByText("Done: 3 jobs deleted.").waitFor();
      assert.equal(await page.locator(".notice.bad").count(), 0);
    },
  },
  {
    title: "long texts and long lists are folded, and unfold",
    async run(test) {
      const client = await faktory(test, "worker-1");
      const rows = Array.from({ length: 300 }, (_, i) => [`row ${i}`, i]);
      await client.push("long-0001", "Long", "long", ["x".repeat(30000), rows]);
      await client.fail("long", "TooLong", "all of it ".repeat(300));
      const { page } = test;
      const height = () => page.evaluate(() => document.documentElement.scrollHeight);
      await test.open("jobs?state=retrying");
      await row(page, "Long").waitFor();
      assert.ok((await row(page, "Long").boundingBox()).height < 200);
      await test.open("jobs/1");
      await page.getByText("30,002 characters").waitFor();
      assert.ok((await height()) < 2000);
      await page.getByText("30,002 characters").click();
      await page.locator("details[open] > span", { hasText: "x".repeat(30000) }).waitFor();
      await page.getByText("250 more").click();
      await page.locator("details[open] .key", { hasText: "299" }).waitFor();
    },
  },
];
