// Users log in by a form, and out.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { violations } from "../axe.js";
import { fill, row } from "../helpers.js";

const PROGRAM = process.env.MILLRACE ?? "build/release/millrace";
const PASSWORD = "open sesame, please";

/** The server again, with users; what `fill` does needs no login, so it comes before. */
async function withUsers(test) {
  const { server } = test;
  await server.kill();
  const input = `${PASSWORD}\n`;
  const hash = execFileSync(PROGRAM, ["users", "hash"], { input, encoding: "utf8" });
  const file = path.join(server.directory, "users.toml");
  const user = (name, role) =>
    `[[user]]\nname = "${name}"\nroles = ["${role}"]\nweb-password = "${hash.trim()}"\n`;
  const listener = '[[listener]]\nprotocol = "beanstalk"\nuser = "ana"\n';
  fs.writeFileSync(file, user("ana", "admin") + user("bob", "viewer") + listener, { mode: 0o600 });
  server.flags = [`--users=${file}`];
  await server.start();
}

async function logIn(page, name, password = PASSWORD) {
  await page.getByLabel("User name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}

/** A site that is not ours, with a link to the address. */
async function otherSite(href) {
  const site = http.createServer((_, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end(`<a href="${href}">Queue mail</a>`);
  });
  await new Promise((resolve) => {
    site.listen(0, "127.0.0.1", resolve);
  });
  return { address: `http://localhost:${site.address().port}/`, end: () => site.close() };
}

export const cases = [
  {
    title: "a user logs in at a link, stays logged in, and logs out",
    async run(test) {
      await fill(test);
      await withUsers(test);
      const { page, server } = test;
      await test.open("queues/mail?span=1h#at=1700000000");
      await page.getByRole("heading", { name: "Log in" }).waitFor();
      assert.deepEqual(await violations(page), []);
      await logIn(page, "ana", "a guess");
      await page.getByRole("alert").getByText("is wrong").waitFor();
      assert.deepEqual(await violations(page), []);
      await logIn(page, "ana");
      await page.getByRole("heading", { name: "mail" }).waitFor();
      assert.equal(page.url(), `${server.base}queues/mail?span=1h#at=1700000000`);
      // A link on another site brings no cookie at first.
      const site = await otherSite(`${server.base}queues/mail?span=1h`);
      await page.goto(site.address);
      await page.getByRole("link", { name: "Queue mail" }).click();
      await page.getByRole("heading", { name: "mail" }).waitFor();
      site.end();
      await test.open("queues");
      await page.getByRole("button", { name: "Log out" }).click();
      await page.getByRole("heading", { name: "Log in" }).waitFor();
      await test.open("queues");
      await page.getByRole("heading", { name: "Log in" }).waitFor();
      await logIn(page, "bob");
      await row(page, "mail").waitFor();
      await page.getByText("read-only").waitFor();
    },
  },
  {
    title: "a session that has ended is said to have, and the page comes back after the login",
    async run(test) {
      await fill(test);
      await withUsers(test);
      const { page, server } = test;
      await test.open("queues");
      await logIn(page, "ana");
      await row(page, "mail").waitFor();
      await server.kill();
      await server.start();
      await page.getByText("Please log in again.").waitFor();
      await page.getByRole("link", { name: "Log in" }).click();
      await logIn(page, "ana");
      await row(page, "mail").waitFor();
      assert.equal(page.url(), `${server.base}queues`);
    },
  },
];
