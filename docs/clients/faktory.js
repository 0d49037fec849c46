// In a folder with this file alone:
//   npm install faktory-worker@4.7.1
//   node faktory.js
const faktory = require("faktory-worker");

faktory.register("Greet", async (name) => {
  console.log(`hello ${name}`);
});

(async () => {
  const client = await faktory.connect(); // FAKTORY_URL, or localhost:7419
  await client.job("Greet", "world").push();
  await client.close();

  await faktory.work(); // until Ctrl-C
})();
