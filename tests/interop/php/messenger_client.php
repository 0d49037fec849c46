<?php

// The beanstalkd transport of Symfony Messenger, driven command by command.

use Symfony\Component\Messenger\Bridge\Beanstalkd\Transport\BeanstalkdReceivedStamp;
use Symfony\Component\Messenger\Bridge\Beanstalkd\Transport\BeanstalkdTransportFactory;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Stamp\DelayStamp;
use Symfony\Component\Messenger\Transport\Serialization\PhpSerializer;
use Symfony\Component\Messenger\Transport\TransportInterface;

require 'Symfony/Component/Messenger/Bridge/Beanstalkd/autoload.php';
require 'driver.php';

class Message
{
    public string $text;

    public function __construct(string $text)
    {
        $this->text = $text;
    }
}

// The transports in use: each has one tube and one timeout.
class Transports
{
    private array $made = [];
    private array $reserved = [];

    public function of(string $tube, int $timeout, int $ttr): TransportInterface
    {
        $options = ['tube_name' => $tube, 'timeout' => $timeout, 'ttr' => $ttr];
        $dsn = 'beanstalkd://' . getenv('BEANSTALKD_URL');

        $factory = new BeanstalkdTransportFactory();

        return $this->made[implode(' ', $options)] ??=
            $factory->createTransport($dsn, $options, new PhpSerializer());
    }

    public function put(string $tube, string $body, int $delay, int $ttr): array
    {
        $stamps = $delay > 0 ? [new DelayStamp(1000 * $delay)] : [];
        $envelope = new Envelope(new Message(hex2bin($body)), $stamps);
        $this->of($tube, 0, $ttr)->send($envelope);

        return ['id', '?'];
    }

    public function reserve(string $tube, int $timeout): array
    {
        $transport = $this->of($tube, $timeout, 60);
        foreach ($transport->get() as $envelope) {
            $id = $envelope->last(BeanstalkdReceivedStamp::class)->getId();
            $this->reserved[$id] = [$transport, $envelope];

            return ['job', $id, bin2hex($envelope->getMessage()->text)];
        }

        return ['none'];
    }

    // A message is acknowledged by the transport that got it.
    public function delete(string $id): void
    {
        if (!isset($this->reserved[$id])) {
            throw new OutOfRangeException("job $id not found");
        }
        [$transport, $envelope] = $this->reserved[$id];
        unset($this->reserved[$id]);
        $transport->ack($envelope);
    }
}

$transports = new Transports();
$tube = 'default';

serve([
    'connect' => function () use (&$transports) {
        $transports = new Transports();
    },
    'put' => function ($tube, $pri, $delay, $ttr, $body) use (&$transports) {
        return $transports->put($tube, $body, (int) $delay, (int) $ttr);
    },
    'watch' => function ($name) use (&$tube) {
        $tube = $name;
    },
    'reserve' => function ($seconds) use (&$transports, &$tube) {
        return $transports->reserve($tube, (int) $seconds);
    },
    'delete' => function ($id) use (&$transports) {
        $transports->delete($id);
    },
]);
