# FaktoryWorkerPerl: `push` or `work`.
use strict;
use warnings;

use FaktoryWorkerPerl::Client;
use FaktoryWorkerPerl::Worker;
use JSON;

# The library pushes what has this method. Its own class has no way to set a queue, or a time.
package Unit {
    sub json_serialized { return $_[0]->{job} }
}

$| = 1;
my ($host, $port) = $ENV{FAKTORY_URL} =~ m{^tcp://([^:]+):(\d+)$}
    or die "it knows hosts and ports only: $ENV{FAKTORY_URL}";
my $client = FaktoryWorkerPerl::Client->new(host => $host, port => $port);

sub do_pushes {
    while (my $line = <STDIN>) {
        my $job = decode_json($line);
        my $done = eval { $client->push(bless { job => $job }, 'Unit'); 1 };
        print $done ? "ok\n" : 'error ' . ($@ =~ s/\s+/ /gr) . "\n";
    }
}

sub say_run {
    my ($jobtype, $job) = @_;
    print encode_json({
        jobtype => $jobtype,
        jid     => $job->{jid},
        args    => $job->{args},
        custom  => $job->{custom} // {},
    }), "\n";
    return 1;
}

sub slow {
    my ($job) = @_;
    say_run('Slow', $job);
    sleep $job->{args}[0];
    return say_run('Slept', $job);
}

sub work {
    my $worker = FaktoryWorkerPerl::Worker->new(
        client => $client,
        queues => [split /,/, $ENV{INTEROP_QUEUES}],
    );
    for my $jobtype (qw(Record beanstalk)) {
        $worker->register($jobtype, sub { say_run($jobtype, $_[0]) });
    }
    $worker->register(Slow => \&slow);
    $worker->run(1);
}

$ARGV[0] eq 'push' ? do_pushes() : work();
