# Works on a tube and prints the body of each job that it did. SIGTERM ends it.
#
#   worker.rb PORT TUBE
require 'beaneater'
require_relative 'steady'

port, tube = ARGV

$stdout.sync = true
trap('TERM') { exit }
client = Steady.new(port)
loop do
  client.call do |beanstalk|
    beanstalk.tubes.watch!(tube)
    job = beanstalk.tubes.reserve(1)
    puts job.body
    job.delete
  end
rescue Beaneater::TimedOutError
  next
rescue Beaneater::NotFoundError
  # The reservation ended with the old server: the job comes again.
  next
end
