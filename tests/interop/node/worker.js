// Works on a queue and prints a line of JSON for each job that it did. SIGTERM ends it.
//
//   worker.js PORT QUEUE JOBTYPE...
const { Worker } = require("faktory-worker");

const [port, queue, ...jobtypes] = process.argv.slice(2);

const worker = new Worker({
  url: `tcp://127.0.0.1:${port}`,
  queues: [queue],
  concurrency: 4,
});
for (const jobtype of jobtypes) {
  worker.register(jobtype, (...args) => ({ job }) => {
    console.log(JSON.stringify({ jid: job.jid, jobtype, args, custom: job.custom }));
  });
}
// A server that is away for a moment is an event, not the end: the worker goes on trying.
worker.on("error", (error) => console.error(error.message));
process.on("unhandledRejection", (error) => console.error(error.message));
worker.work();
