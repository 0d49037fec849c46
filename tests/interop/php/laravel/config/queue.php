<?php

return [
    'default' => env('QUEUE_CONNECTION', 'sync'),
    'connections' => [
    ],
    'failed' => ['driver' => 'null'],
];
