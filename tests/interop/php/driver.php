<?php

// Reads commands, has each done, answers. What a handler throws: `error TEXT`.
// `$handlers`: from a command to a function that is given its words and returns the answer's.
function serve(array $handlers): void
{
    while (($line = fgets(STDIN)) !== false) {
        $words = explode("\t", rtrim($line, "\n"));
        try {
            $answer = $handlers[array_shift($words)](...$words) ?? ['ok'];
        } catch (Throwable $error) {
            $text = get_class($error) . ' ' . $error->getMessage();
            $answer = ['error ' . strtr($text, "\r\n", '  ')];
        }
        echo implode("\t", $answer), "\n";
    }
}

function stats_answer(iterable $stats): array
{
    $answer = ['stats'];
    foreach ($stats as $name => $value) {
        $answer[] = "$name=$value";
    }

    return $answer;
}
