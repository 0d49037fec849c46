# A day in the life of a mail queue, by beaneater: tells what happens, in words that do not depend
# on when or where it runs. The server is the one that BEANSTALKD_URL names.
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
tell('too big') { mail.put('x' * 65_536) }
tell('as large as may be') { mail.put('x' * 65_535).values_at(:status) }
tell('no such job') { beanstalk.jobs.find(4711) }
tell('commands') do
  names = %w[put peek_ready peek_delayed reserve_with_timeout delete release bury kick touch]
  names.map { |name| [name, beanstalk.stats["cmd_#{name}"]] }
end
tell('what statistics there are') { beanstalk.stats.keys.sort }
beanstalk.close
