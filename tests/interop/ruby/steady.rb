# A beanstalk client for a server that may be away for a moment: connects again and repeats.
class Steady
  ATTEMPTS = 200
  GONE = [Beaneater::NotConnected, SystemCallError, IOError].freeze

  def initialize(port)
    @address = "127.0.0.1:#{port}"
  end

  def call
    attempts = 0
    begin
      @beanstalk ||= Beaneater.new(@address)
      yield @beanstalk
    rescue *GONE
      @beanstalk = nil
      attempts += 1
      raise if attempts == ATTEMPTS

      sleep 0.05
      retry
    end
  end

  def close
    @beanstalk&.close
  end
end
