// Pushes jobs and prints the number of each one that the server acknowledged.
//
//   producer.js PORT QUEUE JOBTYPE COUNT
const { Client } = require("faktory-worker");
const { setTimeout: pause } = require("timers/promises");

const [port, queue, jobtype, count] = process.argv.slice(2);

// The server may be away for a moment: the push is tried again until it is acknowledged. The jid
// stays the same, so a job that was pushed twice can be told.
async function pushUntilAcknowledged(client, job) {
  for (;;) {
    try {
      return await client.push(job);
    } catch (error) {
      await pause(50);
    }
  }
}

async function main() {
  const client = new Client({ url: `tcp://127.0.0.1:${port}` });
  for (let number = 0; number < Number(count); number += 1) {
    const job = client.job(jobtype, number);
    job.queue = queue;
    job.reserveFor = 60;
    await pushUntilAcknowledged(client, job);
    console.log(number);
  }
  await client.close();
}

main();
