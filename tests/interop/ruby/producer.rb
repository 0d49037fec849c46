# Puts jobs and prints the number of each one that the server acknowledged.
#
#   producer.rb PORT TUBE COUNT
require 'beaneater'
require_relative 'steady'

port, tube, count = ARGV

$stdout.sync = true
client = Steady.new(port)
count.to_i.times do |number|
  client.call { |beanstalk| beanstalk.tubes[tube].put(number.to_s) }
  puts number
end
client.close
