# Beanstalk::Client, driven command by command.
use strict;
use warnings;

use Beanstalk::Client;

$| = 1;
my $client;

sub connect_to_server {
    $client = Beanstalk::Client->new({ server => $ENV{BEANSTALKD_URL} });
    $client->connect or die $client->error, "\n";
    return 'ok';
}

# The library returns nothing when it fails, and keeps why.
sub done {
    my ($result) = @_;
    die $client->error || 'the connection is closed', "\n" unless $result;
    return 'ok';
}

sub stats_answer {
    my ($stats) = @_;
    done($stats);
    return 'stats', map { "$_=$stats->{$_}" } keys %$stats;
}

my %handlers = (
    connect => \&connect_to_server,
    put     => sub {
        my ($tube, $pri, $delay, $ttr, $body) = @_;
        done($client->use($tube));
        my $job = $client->put({
            priority => $pri,
            delay    => $delay,
            ttr      => $ttr,
            data     => pack('H*', $body),
        });
        done($job);
        return 'id', $job->id;
    },
    watch   => sub { done($client->watch($_[0])) },
    ignore  => sub { done($client->ignore($_[0])) },
    reserve => sub {
        my $job = $client->reserve($_[0]);
        return 'job', $job->id, unpack('H*', $job->data) if $job;
        done($client->error eq 'TIMED_OUT');
        return 'none';
    },
    delete  => sub { done($client->delete($_[0])) },
    release => sub { done($client->release($_[0], { priority => $_[1], delay => $_[2] })) },
    bury    => sub { done($client->bury($_[0], { priority => $_[1] })) },
    touch   => sub { done($client->touch($_[0])) },
    kick    => sub { done($client->use($_[0])) && done($client->kick($_[1])) },
    pause   => sub { done($client->pause_tube($_[0], $_[1])) },
    stats   => sub { stats_answer($client->stats) },
    'stats-tube' => sub { stats_answer($client->stats_tube($_[0])) },
    'stats-job'  => sub { stats_answer($client->stats_job($_[0])) },
    tubes        => sub { return 'tubes', $client->list_tubes },
);

connect_to_server();
while (my $line = <STDIN>) {
    chomp $line;
    my ($command, @words) = split /\t/, $line;
    my @answer = eval { $handlers{$command}->(@words) };
    @answer = ('error ' . ($@ =~ s/\s+/ /gr)) unless @answer;
    print join("\t", @answer), "\n";
}
