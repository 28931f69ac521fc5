# frozen_string_literal: true

require "io/wait"
require "json"

module Demo
  # Runs the embedded broker while the demo runs: `penstock broker` as a child. Its standard input is a pipe that this
  # process holds; when the pipe closes, for any reason, the broker ends.
  class Broker
    START_LIMIT_S = 20
    STOP_LIMIT_S = 5

    attr_reader :pid, :bootstrap

    # @param command [Array<String>] how `penstock` is called here
    # @param topic [String]
    # @param partitions [Integer]
    # @param log [String] file for its error stream
    def initialize(command, topic:, partitions:, log:)
      @stdin, @stdout = nil
      reading, @stdin = IO.pipe
      @stdout, writing = IO.pipe
      @pid = ::Process.spawn(*command, "broker", "--port", "0", "--topics", "#{topic}:#{partitions}", "--json",
        "--stop-with-stdin", in: reading, out: writing, err: [log, "a"], pgroup: true)
      [reading, writing].each(&:close)
      @bootstrap = read_address
    end

    # Ends the broker, and kills it when it doesn't end in time.
    def stop
      @stdin.close
      ::Process.kill(:KILL, @pid) unless @stdout.wait_readable(STOP_LIMIT_S)
      ::Process.wait(@pid)
      @stdout.close
    end

    private

    # The first line has the broker's address; afterwards nothing comes on this pipe until the broker's end closes it.
    def read_address
      raise "the embedded broker didn't start within #{START_LIMIT_S} s" unless @stdout.wait_readable(START_LIMIT_S)

      line = @stdout.gets || raise("the embedded broker ended at once")
      JSON.parse(line).fetch("bootstrap_servers")
    end
  end
end
