<?php

// pheanstalk, driven command by command.

use Pheanstalk\JobId;
use Pheanstalk\Pheanstalk;

require 'Pheanstalk/autoload.php';
require 'driver.php';

function connected(): Pheanstalk
{
    [$host, $port] = explode(':', getenv('BEANSTALKD_URL'));

    return Pheanstalk::create($host, (int) $port);
}

$client = connected();

serve([
    'connect' => function () use (&$client) {
        $client = connected();
    },
    'put' => function ($tube, $pri, $delay, $ttr, $body) use (&$client) {
        $job = $client->useTube($tube)->put(hex2bin($body), (int) $pri, (int) $delay, (int) $ttr);

        return ['id', $job->getId()];
    },
    'watch' => function ($tube) use (&$client) {
        $client->watch($tube);
    },
    'ignore' => function ($tube) use (&$client) {
        $client->ignore($tube);
    },
    'reserve' => function ($seconds) use (&$client) {
        $job = $client->reserveWithTimeout((int) $seconds);

        return $job ? ['job', $job->getId(), bin2hex($job->getData())] : ['none'];
    },
    'delete' => function ($id) use (&$client) {
        $client->delete(new JobId((int) $id));
    },
    'release' => function ($id, $pri, $delay) use (&$client) {
        $client->release(new JobId((int) $id), (int) $pri, (int) $delay);
    },
    'bury' => function ($id, $pri) use (&$client) {
        $client->bury(new JobId((int) $id), (int) $pri);
    },
    'touch' => function ($id) use (&$client) {
        $client->touch(new JobId((int) $id));
    },
    'kick' => function ($tube, $count) use (&$client) {
        $client->useTube($tube)->kick((int) $count);
    },
    'pause' => function ($tube, $seconds) use (&$client) {
        $client->pauseTube($tube, (int) $seconds);
    },
    'stats' => function () use (&$client) {
        return stats_answer($client->stats());
    },
    'stats-tube' => function ($tube) use (&$client) {
        return stats_answer($client->statsTube($tube));
    },
    'stats-job' => function ($id) use (&$client) {
        return stats_answer($client->statsJob(new JobId((int) $id)));
    },
    'tubes' => function () use (&$client) {
        return ['tubes', ...$client->listTubes()];
    },
]);
