// What a user sees who has rights for some queues.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fill, gone, row } from "../helpers.js";

const PROGRAM = process.env.MILLRACE ?? "build/release/millrace";
const PASSWORD = "open sesame, please";

/** Bob has these rights for `mail*`. */
async function serveBob({ server }, may) {
  const hash = execFileSync(PROGRAM, ["users", "hash"], { input: `${PASSWORD}\n` });
  const file = path.join(server.directory, "users.toml");
  fs.writeFileSync(
    file,
    `[[role]]\nname = "postman"\nqueues = ["mail*"]\nmay = ${JSON.stringify(may)}\n` +
      `[[user]]\nname = "bob"\nroles = ["postman"]\nweb-password = "${String(hash).trim()}"\n` +
      '[[listener]]\nprotocol = "beanstalk"\nuser = "bob"\n',
    { mode: 0o600 },
  );
  await server.kill();
  server.flags = [`--users=${file}`];
  await server.start();
}

/** Leads to the page that was asked for. */
async function logIn(page) {
  await page.getByLabel("User name").fill("bob");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Log in" }).click();
}

export const cases = [
  {
    title: "a user of some queues sees these, and is told once where more rights are needed",
    async run(test) {
      await fill(test);
      await serveBob(test, ["view", "operate"]);
      const { page } = test;
      await test.open("");
      await logIn(page);
      await page.getByText("All is well: 1 queue").waitFor();
      await page.getByText("Charts and workers need the right view for all queues.").waitFor();
      assert.equal(await page.getByRole("alert").count(), 0);
      assert.equal(await page.getByText("today").count(), 0);
      await page.getByRole("link", { name: "Queues", exact: true }).click();
      await page.getByRole("button", { name: "Pause mail" }).waitFor();
      assert.equal(await page.locator("main tbody tr").count(), 1);
      for (const target of ["workers", "types", "batches", "throttles", "server"]) {
        await test.open(target);
        await page.getByText("You need the right view for all queues.").waitFor();
        assert.equal(await page.getByRole("alert").count(), 0);
      }
      const cut = ["cron", "errors", "completed", "activity", "jobs?state=dead", "queues/mail"];
      for (const target of cut) {
        await test.open(target);
        await page.locator("main[aria-busy=false] h1:not(.hidden)").waitFor();
        assert.equal(await page.getByRole("alert").count(), 0);
        assert.equal(await page.getByText("You need the right").count(), 0);
      }
      await page.getByRole("button", { name: "Pause" }).click();
      await page.locator("dialog").getByRole("button", { name: "Pause" }).click();
      await page.getByText("mail is paused.").waitFor();
      // The pages have asked for nothing in vain.
      await test.open("activity?refused=1");
      await page.getByText("No more changes.").waitFor();
    },
  },
  {
    title: "a user who sees all queues has buttons for those where it may operate",
    async run(test) {
      await fill(test);
      await serveBob(test, ["view", "operate"]);
      const { page, server } = test;
      const file = server.flags[0].slice("--users=".length);
      const text = fs.readFileSync(file, "utf8");
      fs.writeFileSync(file, text.replace('["postman"]', '["postman", "viewer"]'));
      await server.kill();
      await server.start();
      await test.open("queues");
      await logIn(page);
      await page.getByRole("button", { name: "Pause mail" }).waitFor();
      const queues = await page.locator("main tbody tr").count();
      assert.ok(queues > 2);
      assert.equal(await page.getByRole("button", { name: /^Pause / }).count(), 1);
      await row(page, "mail").waitFor();
      await test.open("errors");
      await page.getByRole("heading", { name: "Errors" }).waitFor();
      await gone(page.getByText("You need the right"));
    },
  },
];
