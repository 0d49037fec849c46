#include "tools/command_line/command_pages.hpp"

#include <algorithm>

namespace millrace::tools {
namespace {

constexpr const char* kStart = "Start";
constexpr const char* kJobs = "Jobs";
constexpr const char* kWatch = "Watch";
constexpr const char* kQueues = "Queues, workers and features";
constexpr const char* kData = "Data directories and other servers";
constexpr const char* kMachine = "This machine";

constexpr std::array kPages = {
    CommandPage{"serve",
                kStart,
                {"millrace serve --data /var/lib/millrace",
                 "millrace serve --web :7420 --password-file /etc/millrace/password"}},
    CommandPage{"dev", kStart, {"millrace dev", "millrace dev --demo --no-open"}},
    CommandPage{"push",
                kJobs,
                {R"(millrace push Mail '["you", 42]' -q mail --at +30m)",
                 "millrace push - --queue mail <addresses.ndjson"}},
    CommandPage{"put",
                kJobs,
                {"millrace put 'resize cover.jpg' --tube images --ttr 5m",
                 "tar -c reports | millrace put --tube archive"}},
    CommandPage{
        "ls", kJobs, {"millrace ls dead -q 'mail*' --limit 200", "millrace ls ready --watch"}},
    CommandPage{
        "peek", kJobs, {"millrace peek 4711", "millrace peek 4711 -o json | jq .work_unit"}},
    CommandPage{
        "retry",
        kJobs,
        {"millrace retry 4711 4712", "millrace retry --state dead --error timeout --spread 10m"}},
    CommandPage{"delete",
                kJobs,
                {"millrace delete 4711", "millrace delete --state dead --type 'Mail*' --yes"}},
    CommandPage{
        "kill", kJobs, {"millrace kill 4711", "millrace kill --state retrying -q mail --dry-run"}},
    CommandPage{"move",
                kJobs,
                {"millrace move 4711 --to slow",
                 "millrace move --state ready -q mail --type Report --to slow"}},
    CommandPage{"fetch",
                kJobs,
                {"millrace fetch images --wait 10m", "millrace fetch images --jobs 100 --delete"}},
    CommandPage{"stats", kWatch, {"millrace stats", "millrace stats --url https://jobs.example"}},
    CommandPage{"top", kWatch, {"millrace top", "millrace top --url jobs.example:7420"}},
    CommandPage{"tail", kWatch, {"millrace tail", "millrace tail -q 'mail*' -o json"}},
    CommandPage{"errors", kWatch, {"millrace errors", "millrace errors -o json | jq '.groups[0]'"}},
    CommandPage{"types", kWatch, {"millrace types", "millrace types --watch"}},
    CommandPage{
        "audit",
        kWatch,
        {"millrace audit --who ana --since 1d", "millrace audit --ndjson > changes.ndjson"}},
    CommandPage{"health", kWatch, {"millrace health", "millrace health --url jobs.example:7420"}},
    CommandPage{"cluster", kWatch, {"millrace cluster", "millrace cluster --watch"}},
    CommandPage{"queues", kQueues, {"millrace queues -w", "millrace queues clear imports --yes"}},
    CommandPage{"pause", kQueues, {"millrace pause mail imports", "millrace pause mail --for 1h"}},
    CommandPage{"resume", kQueues, {"millrace resume mail", "millrace resume mail imports"}},
    CommandPage{
        "workers", kQueues, {"millrace workers", "millrace workers quiet 4f1a9c27d3b05e68"}},
    CommandPage{"batches",
                kQueues,
                {"millrace batches --state failed", "millrace batches retry b-Xk3v9QmTz1"}},
    CommandPage{"cron", kQueues, {"millrace cron", "millrace cron run 'nightly report'"}},
    CommandPage{"throttles",
                kQueues,
                {"millrace throttles set mail --rate 100/1m",
                 "millrace throttles set type:Report --concurrency 1 --timeout 1h"}},
    CommandPage{"locks", kQueues, {"millrace locks -q mail", "millrace locks free 4711"}},
    CommandPage{"tokens",
                kQueues,
                {"millrace tokens new ci --may view,operate --queues 'mail*' --expires 30d",
                 "millrace tokens revoke 3f9a0c1b22de"}},
    CommandPage{"check",
                kData,
                {"millrace check /var/lib/millrace",
                 "millrace check /var/lib/millrace --salvage /var/lib/salvaged"}},
    CommandPage{"backup",
                kData,
                {"millrace backup /var/lib/millrace --to /backup/whole",
                 "millrace backup /var/lib/millrace --since /backup/jobs --to /backup/jobs"}},
    CommandPage{"restore",
                kData,
                {"millrace restore /backup/jobs --to /var/lib/restored",
                 "millrace restore /backup/jobs --to /var/lib/restored --until "
                 "2026-11-22T09:59:50Z"}},
    CommandPage{"import",
                kData,
                {"millrace import --beanstalkd /var/lib/beanstalkd --into /var/lib/millrace",
                 "millrace import lost.ndjson --url jobs.example:7420"}},
    CommandPage{"export",
                kData,
                {"millrace export /var/lib/millrace --to beanstalk://127.0.0.1:11300",
                 "millrace export --state dead -q 'mail*' --since 2h --to lost.ndjson"}},
    CommandPage{"move-to-log",
                kData,
                {"millrace move-to-log /var/lib/millrace --log 'nats://n1/jobs?synced=yes'",
                 "millrace move-to-log /var/lib/millrace --log postgresql://millrace@db1/jobs"}},
    CommandPage{"move-to-file",
                kData,
                {"millrace move-to-file /var/lib/alone --log 'nats://n1/jobs?synced=yes'",
                 "millrace move-to-file /var/lib/alone --log postgresql://millrace@db1/jobs "
                 "--again"}},
    CommandPage{"doctor", kMachine, {"millrace doctor", "millrace doctor /var/lib/millrace"}},
    CommandPage{"bench", kMachine, {"millrace bench", "millrace bench /var/lib --seconds 10"}},
    CommandPage{"config",
                kMachine,
                {"millrace config check --data /var/lib/millrace --sync interval:100",
                 "millrace config check --web :7420 --password-file /etc/millrace/password"}},
    CommandPage{"users",
                kMachine,
                {"millrace users check /etc/millrace/users.toml",
                 "millrace users explain /etc/millrace/users.toml mail-app push billing"}},
    CommandPage{"completion",
                kMachine,
                {"eval \"$(millrace completion bash)\"",
                 "millrace completion fish >~/.config/fish/completions/millrace.fish"}},
    CommandPage{"man", kMachine, {"millrace man >millrace.1", "millrace man | man -l -"}},
};

}  // namespace

std::span<const CommandPage> command_pages() {
  return kPages;
}

const CommandPage* find_page(std::string_view name) {
  const auto* const found = std::ranges::find(kPages, name, &CommandPage::name);
  return found == kPages.end() ? nullptr : found;
}

}  // namespace millrace::tools
