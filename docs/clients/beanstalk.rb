# On Debian 12 (elsewhere: gem install beaneater -v 1.1.1):
#   apt-get install ruby-beaneater
#   ruby beanstalk.rb
require 'beaneater'

beanstalk = Beaneater.new('127.0.0.1:11300')
beanstalk.tubes['mail'].put('world')

beanstalk.tubes.watch!('mail')
job = beanstalk.tubes.reserve(10)
puts "hello #{job.body}"
job.delete
beanstalk.close
