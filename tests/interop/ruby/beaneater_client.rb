# beaneater, driven command by command.
require 'beaneater'

# The handlers are given a command's words and return the answer's.
class Driven
  def initialize
    @reserved = {}
    connect
  end

  def connect
    @beanstalk = Beaneater.new(ENV.fetch('BEANSTALKD_URL'))
    @watched = ['default']
    nil
  end

  def put(tube, pri, delay, ttr, body)
    reply = @beanstalk.tubes[tube].put([body].pack('H*'),
                                       pri: pri.to_i, delay: delay.to_i, ttr: ttr.to_i)
    ['id', reply[:id]]
  end

  def watch(tube)
    @watched << tube
    @beanstalk.tubes.watch!(*@watched)
    nil
  end

  def ignore(tube)
    @watched.delete(tube)
    @beanstalk.tubes.watch!(*@watched)
    nil
  end

  def reserve(seconds)
    job = @beanstalk.tubes.reserve(seconds.to_i)
    @reserved[job.id] = job
    ['job', job.id, job.body.unpack1('H*')]
  rescue Beaneater::TimedOutError
    ['none']
  end

  def delete(id)
    job = @reserved.delete(id) || @beanstalk.jobs.find(id)
    raise "job #{id} not found" unless job

    job.delete
    nil
  end

  def release(id, pri, delay)
    @reserved[id].release(pri: pri.to_i, delay: delay.to_i)
    nil
  end

  def bury(id, pri)
    @reserved[id].bury(pri: pri.to_i)
    nil
  end

  def touch(id)
    @reserved[id].touch
    nil
  end

  def kick(tube, count)
    @beanstalk.tubes[tube].kick(count.to_i)
    nil
  end

  def pause(tube, seconds)
    @beanstalk.tubes[tube].pause(seconds.to_i)
    nil
  end

  def stats
    answer(@beanstalk.stats)
  end

  def stats_tube(tube)
    answer(@beanstalk.tubes[tube].stats)
  end

  def stats_job(id)
    answer(@beanstalk.jobs.find(id).stats)
  end

  def tubes
    ['tubes', *@beanstalk.tubes.all.map(&:name)]
  end

  private

  def answer(stats)
    ['stats', *stats.keys.map { |name| "#{name}=#{stats[name]}" }]
  end
end

$stdout.sync = true
driven = Driven.new
$stdin.each_line(chomp: true) do |line|
  command, *words = line.split("\t")
  begin
    puts((driven.public_send(command.tr('-', '_'), *words) || ['ok']).join("\t"))
  rescue StandardError => error
    puts "error #{error.class} #{error.message}".tr("\n", ' ')
  end
end
