# frozen_string_literal: true

require "io/wait"
require "json"

module Demo
  # The embedded broker for the time of the demo: `penstock broker` as a child. Its standard input is a pipe that this
  # process holds; when that closes, for whatever reason, the broker ends.
  class Broker
    START_LIMIT_S = 20
    STOP_LIMIT_S = 5

    attr_reader :pid, :bootstrap

    # @param command [Array<String>] how `penstock` is called here
    # @param topic [String]
    # @param partitions [Integer]
    # @param log [String] file for what it says on its error stream
    def initialize(command, topic:, partitions:, log:)
      @stdin, @stdout = nil
      reading, @stdin = IO.pipe
      @stdout, writing = IO.pipe
      @pid = ::Process.spawn(*command, "broker", "--port", "0", "--topics", "#{topic}:#{partitions}", "--json",
        "--stop-with-stdin", in: reading, out: writing, err: [log, "a"], pgroup: true)
      [reading, writing].each(&:close)
      @bootstrap = read_address
    end

    # Ends it. When it doesn't end in time, it is killed.
    def stop
      @stdin.close
      ::Process.kill(:KILL, @pid) unless @stdout.wait_readable(STOP_LIMIT_S)
      ::Process.wait(@pid)
      @stdout.close
    end

    private

    # The first line says where it listens; afterwards nothing comes on this pipe until the end closes it.
    def read_address
      raise "the embedded broker didn't start within #{START_LIMIT_S} s" unless @stdout.wait_readable(START_LIMIT_S)

      line = @stdout.gets || raise("the embedded broker ended at once")
      JSON.parse(line).fetch("bootstrap_servers")
    end
  end
end
