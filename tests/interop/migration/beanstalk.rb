# A day in the life of a mail queue, by beaneater: tells what happens, in words that do not depend
# on when or where it runs. The server is the one that BEANSTALKD_URL names. After it has said
# `restart` it waits for a line, which comes when the server was ended and started again.
require 'beaneater'

def tell(title)
  value = begin
    yield
  rescue StandardError => error
    error.class
  end
  puts "#{title}: #{value.inspect}"
end

def counts(tube)
  stats = tube.stats
  %w[ready reserved delayed buried urgent].map { |state| stats["current_jobs_#{state}"] }
end

beanstalk = Beaneater.new(ENV.fetch('BEANSTALKD_URL'))
mail = beanstalk.tubes['mail']
beanstalk.tubes.watch!('mail')

tell('empty') { beanstalk.tubes.reserve(0) }
mail.put('slow', pri: 2000)
mail.put('grüße', pri: 10)
mail.put("two\r\nlines", pri: 1000, ttr: 120)
mail.put('later', delay: 1)
tell('tubes') { beanstalk.tubes.all.map(&:name) }
tell('put') { counts(mail) }
tell('ready') { mail.peek(:ready).body }
tell('delayed') { mail.peek(:delayed).body }

urgent = beanstalk.tubes.reserve(1)
tell('first') { urgent.body }
tell('its statistics') { urgent.stats.keys.sort }
tell('its state') { %w[state pri ttr reserves].map { |name| urgent.stats[name] } }
urgent.bury(pri: 5)
tell('buried') { counts(mail) }
second = beanstalk.tubes.reserve(1)
tell('second') { second.body }
second.release(pri: 3000, delay: 0)
third = beanstalk.tubes.reserve(1)
tell('third') { third.body }
tell('touched') { third.touch[:status] }
third.delete
tell('deleted twice') { third.delete }
tell('kicked') { mail.kick(10)[:id] }
tell('after the kick') { counts(mail) }
tell('the rest') { Array.new(3) { beanstalk.tubes.reserve(3).tap(&:delete).body } }

mail.pause(1)
mail.put('after the pause')
tell('paused') { beanstalk.tubes.reserve(0) }
tell('resumed') { beanstalk.tubes.reserve(3).tap(&:delete).body }
tell('no such job') { beanstalk.jobs.find(4711) }
tell('commands') do
  names = %w[put peek_ready peek_delayed reserve_with_timeout delete release bury kick touch]
  names.map { |name| [name, beanstalk.stats["cmd_#{name}"]] }
end
tell('what statistics there are') { beanstalk.stats.keys.sort }

# A worker of another connection: what it holds nobody else gets, until it has gone.
worker = Beaneater.new(ENV.fetch('BEANSTALKD_URL'))
worker.tubes.watch!('mail')
mail.put('for one of two')
held = worker.tubes.reserve(1)
tell('the worker has') { held.body }
tell('the other has') { beanstalk.tubes.reserve(0) }
tell('the other deletes it') { beanstalk.jobs.find(held.id).delete }
tell('the worker releases it') { held.release(delay: 0)[:status] }
tell('the other gets it') { beanstalk.tubes.reserve(1).tap(&:release).body }
tell('the worker gets it') { worker.tubes.reserve(1).body }
worker.close
tell('back from who has gone') { beanstalk.tubes.reserve(3).tap(&:delete).body }

mail.put('kept', pri: 7, ttr: 90)
mail.put('kept for later', delay: 3600)
mail.put('kept in the ground')
beanstalk.tubes.reserve(1).release(pri: 8)
worker = Beaneater.new(ENV.fetch('BEANSTALKD_URL'))
worker.tubes.watch!('mail')
2.times { worker.tubes.reserve(1).then { |job| job.body == 'kept' ? job.release : job.bury } }
tell('before the restart') { counts(mail) }
puts 'restart'
$stdout.flush
$stdin.gets
tell('after the restart') { counts(mail) }
tell('the worker goes on') { worker.tubes.reserve(3).tap(&:delete).body }
tell('so does the other') { beanstalk.tubes['mail'].kick(10)[:id] }
tell('and gets') { beanstalk.tubes.reserve(3).then { |job| [job.body, job.stats['kicks']] } }
# Not before the restart: beanstalkd 1.12 reads its log no further than a job of this size.
tell('too big') { mail.put('x' * 65_536) }
tell('as large as may be') { mail.put('x' * 65_535).values_at(:status) }
beanstalk.close
