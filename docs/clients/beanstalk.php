<?php

// On Debian 12 (with Composer: composer require pda/pheanstalk:4.0.4, and vendor/autoload.php):
//   apt-get install php-cli php-pda-pheanstalk
//   php beanstalk.php
use Pheanstalk\Pheanstalk;

require 'Pheanstalk/autoload.php';

$client = Pheanstalk::create('127.0.0.1', 11300);
$client->useTube('mail')->put('world');

$job = $client->watch('mail')->reserveWithTimeout(10);
echo "hello {$job->getData()}\n";
$client->delete($job);
