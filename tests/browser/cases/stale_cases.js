// What a person agreed to is what is done, though the server has gone on since the page was drawn.
import assert from "node:assert/strict";
import { beanstalk, counts, faktory, row, until } from "../helpers.js";

/** The pages go on being drawn, but only with what was known before. */
const freeze = (page) => page.getByRole("button", { name: "Live" }).click();

/** The page shows a job and updates no more; started again, the server has another of that id. */
async function restartUnder(test) {
  const { page, server } = test;
  await beanstalk(test).put("mail", "before");
  await test.open("jobs/1");
  await page.getByText("before").waitFor();
  await freeze(page);
  await server.kill();
  await server.start();
  await beanstalk(test).put("mail", "another");
}

export const cases = [
  {
    title: "what comes while somebody is asked is not changed with the rest",
    async run(test) {
      const tube = beanstalk(test);
      for (const name of ["filter", "filter", "cleared", "cleared", "deleted"])
        await tube.put(name, name);
      const { page } = test;
      await test.open("jobs?state=ready&queue=filter");
      await page.getByRole("button", { name: "Delete all that match" }).click();
      const two = page.getByRole("dialog").getByRole("button", { name: "Delete 2 jobs" });
      await two.waitFor();
      await tube.put("filter", "late");
      await two.click();
      await page.getByText("Done: 2 jobs deleted.").waitFor();
      await test.open("queues");
      await page.getByLabel("More actions for cleared").click();
      await page.getByRole("button", { name: "Clear cleared" }).click();
      await tube.put("cleared", "late");
      await page.getByRole("button", { name: "Delete 2 ready jobs" }).click();
      await page.getByText("Done: 2 jobs deleted.").waitFor();
      await page.getByLabel("More actions for deleted").click();
      await page.getByRole("button", { name: "Delete deleted" }).click();
      await tube.put("deleted", "late");
      await page.getByRole("button", { name: "Delete the queue and 1 job" }).click();
      await page.getByText("Done: 1 job deleted.").waitFor();
      const { jobs } = await test.server.api("jobs?state=ready");
      assert.deepEqual(jobs.map(({ queue }) => queue).sort(), ["cleared", "deleted", "filter"]);
    },
  },
  {
    title: "a job that has another state than the page shows is left alone",
    async run(test) {
      const tube = beanstalk(test);
      for (const body of ["a", "b", "c"]) await tube.put("mail", body);
      const { page, server } = test;
      await test.open("jobs?state=ready");
      await page.getByRole("checkbox", { name: "Select all jobs of this page" }).check();
      await freeze(page);
      await fetch(`${server.base}api/v1/jobs/2/kill`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
      });
      await page.getByRole("button", { name: "Delete 3" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete 3 jobs" }).click();
      await page.getByText("2 jobs deleted, 1 unchanged.").waitFor();
      assert.equal((await server.api(`jobs/2`)).state, "dead");
      assert.equal((await counts(test)).ready, 0);
    },
  },
  {
    title: "after a restart nothing is done to jobs and operations that have the same numbers",
    flags: ["--volatile"],
    async run(test) {
      const { page } = test;
      await restartUnder(test);
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete 1 job" }).click();
      await page.getByText("The server was restarted").first().waitFor();
      assert.equal((await counts(test)).ready, 1);
    },
  },
  {
    title: "after a restart no page that was drawn before can be used, even when it is not updated",
    flags: ["--volatile"],
    async run(test) {
      const { page } = test;
      await restartUnder(test);
      await page.getByRole("button", { name: "Kill" }).click();
      await page.getByText("The server was restarted").first().waitFor();
      await page.getByText("another").waitFor();
      assert.equal(await page.getByRole("dialog").count(), 0);
      assert.equal((await counts(test)).ready, 1);
    },
  },
  {
    title: "a job that is being written outlives a restart of the server",
    async run(test) {
      const { page, server } = test;
      await test.open("jobs");
      await page.getByRole("button", { name: "Push a job…" }).click();
      const box = page.getByRole("textbox", { name: /Job as JSON/ });
      await box.fill('{"jobtype": "Written", "args": []}');
      await server.kill();
      await server.start();
      await page.getByText("The server was restarted").waitFor();
      await page.getByRole("button", { name: "Push the job" }).click();
      await row(page, "Written").waitFor();
    },
  },
  {
    title: "a push that was cancelled too late is told of",
    async run(test) {
      const { page, server } = test;
      await test.open("jobs");
      await page.getByRole("button", { name: "Push a job…" }).click();
      server.process.kill("SIGSTOP");
      await page.getByRole("button", { name: "Push the job" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
      server.process.kill("SIGCONT");
      await page.getByText("Job 1 was pushed.").waitFor();
    },
  },
  {
    title: "workers that come while somebody is asked are not stopped with the others",
    async run(test) {
      await faktory(test, "worker-1");
      const { page, server } = test;
      await test.open("workers");
      await page.getByRole("button", { name: "Stop all…" }).click();
      await faktory(test, "worker-2");
      await page.getByRole("button", { name: "Stop 1 worker" }).click();
      await page.getByText("1 worker will be told at the next heartbeat.").waitFor();
      const { workers } = await server.api("workers");
      assert.deepEqual(workers.map(({ state }) => state), ["stopping", "running"]);
    },
  },
  {
    title: "a selection ends when the server is started again",
    async run(test) {
      const { page, server } = test;
      await beanstalk(test).put("mail", "a");
      await test.open("jobs?state=ready");
      await page.getByRole("checkbox", { name: "Select job 1" }).check();
      await page.getByRole("button", { name: "Delete 1" }).click();
      await page.getByRole("dialog").waitFor();
      await server.kill();
      await server.start();
      await page.getByText("The server was restarted").waitFor();
      assert.equal(await page.getByRole("dialog").count(), 0);
      await page.getByText("Select jobs, or change").waitFor();
    },
  },
  {
    title: "a change that the server knows no more says how far it was",
    async run(test) {
      const { page, server } = test;
      await beanstalk(test).put("mail", "a");
      let letLook = () => {};
      const isStarted = new Promise((resolve) => {
        letLook = resolve;
      });
      await page.route("**/api/v1/operations/*", async (route) => {
        await isStarted;
        await route.continue();
      });
      await test.open("jobs?state=ready&queue=mail");
      await page.getByRole("button", { name: "Kill all that match" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Kill 1 job" }).click();
      await page.getByText("Kill all ready jobs").waitFor();
      await page.getByText(/ killed, \d of 1 checked/).waitFor();
      await server.kill();
      await server.start();
      letLook();
      await page.getByText("The progress is unknown").waitFor();
      assert.equal(await page.getByRole("button", { name: "Cancel" }).count(), 0);
    },
  },
  {
    title: "of a server that hangs is said that it does not answer",
    async run(test) {
      const { page, server } = test;
      await test.open("server");
      await page.getByRole("button", { name: "Live" }).waitFor();
      server.process.kill("SIGSTOP");
      await page.getByText("The server does not answer.").waitFor({ timeout: 20000 });
      await page.getByRole("button", { name: "Offline" }).waitFor();
      server.process.kill("SIGCONT");
      await page.getByRole("button", { name: "Live" }).waitFor();
    },
  },
  {
    title: "rows between two clicks are selected with the shift key",
    async run(test) {
      const tube = beanstalk(test);
      for (let i = 0; i < 6; i += 1) await tube.put("mail", `${i}`);
      const { page } = test;
      await test.open("jobs?state=ready");
      await page.getByRole("checkbox", { name: "Select job 5" }).click();
      await page.getByRole("checkbox", { name: "Select job 2" }).click({ modifiers: ["Shift"] });
      await page.getByText("4 jobs selected:").waitFor();
      await page.getByRole("checkbox", { name: "Select job 3" }).click({ modifiers: ["Shift"] });
      await page.getByText("2 jobs selected:").waitFor();
      await page.locator("tbody a.row").first().click();
      await page.getByRole("heading", { name: /1/ }).waitFor();
      await page.goBack();
      await page.getByText("2 jobs selected:").waitFor();
    },
  },
  {
    title: "a job is pushed once by two clicks",
    async run(test) {
      const { page } = test;
      await test.open("jobs");
      await page.getByRole("button", { name: "Push a job…" }).click();
      await page.getByRole("button", { name: "Push the job" }).dblclick();
      await row(page, "Example").waitFor();
      assert.equal((await counts(test)).ready, 1);
    },
  },
  {
    title: "the end of a queue leads nobody away from where he is",
    async run(test) {
      const tube = beanstalk(test);
      await tube.command("use mail");
      tube.socket.write("put 0 0 60 1\r\nx\r\n".repeat(3000));
      await until(async () => (await counts(test)).ready === 3000, "all are there");
      const { page } = test;
      await test.open("queues/mail");
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByLabel("Type 3,000 to confirm").fill("3000");
      await page.getByRole("dialog").getByRole("button", { name: /^Delete the queue/ }).click();
      await page.getByRole("link", { name: "Workers" }).click();
      await page.getByText("Done: 3,000 jobs deleted.").waitFor();
      assert.match(page.url(), /workers$/);
    },
  },
];
