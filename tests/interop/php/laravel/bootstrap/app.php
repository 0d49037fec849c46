<?php

// The generator makes this folder, and git keeps no empty one.
is_dir(__DIR__ . '/cache') || mkdir(__DIR__ . '/cache');
$app = new Illuminate\Foundation\Application(dirname(__DIR__));
$app->singleton(Illuminate\Contracts\Console\Kernel::class, App\Console\Kernel::class);
$app->singleton(
    Illuminate\Contracts\Debug\ExceptionHandler::class,
    Illuminate\Foundation\Exceptions\Handler::class
);

return $app;
