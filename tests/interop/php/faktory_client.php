<?php

// faktory_worker_php5: `push` or `work`. Its first argument is where the library is.

use FaktoryQueue\FaktoryClient;
use FaktoryQueue\FaktoryWorker;

foreach (['FaktoryClient', 'FaktoryJob', 'FaktoryWorker'] as $class) {
    require "$argv[1]/src/$class.php";
}

$server = parse_url(getenv('FAKTORY_URL'));
$client = new FaktoryClient($server['host'], $server['port']);

// The library pushes what can be encoded. Its own class has no way to set a queue.
function push(FaktoryClient $client): void
{
    while (($line = fgets(STDIN)) !== false) {
        try {
            $client->push(json_decode($line));
            echo "ok\n";
        } catch (Throwable $error) {
            echo 'error ', strtr($error->getMessage(), "\r\n", '  '), "\n";
        }
    }
}

function say(string $jobtype, array $job): void
{
    $said = ['jobtype' => $jobtype, 'jid' => $job['jid'], 'args' => $job['args']];
    echo json_encode($said), "\n";
}

function slow(array $job): void
{
    say('Slow', $job);
    sleep($job['args'][0]);
    say('Slept', $job);
}

function work(FaktoryClient $client): void
{
    $worker = new FaktoryWorker($client);
    $worker->setQueues(explode(',', getenv('INTEROP_QUEUES')));
    foreach (['Record', 'beanstalk'] as $jobtype) {
        $worker->register($jobtype, fn ($job) => say($jobtype, $job));
    }
    $worker->register('Fail', function ($job) {
        say('Fail', $job);
        throw new Exception('no luck');
    });
    $worker->register('Slow', 'slow');
    $worker->run(true);
}

$argv[2] === 'push' ? push($client) : work($client);
