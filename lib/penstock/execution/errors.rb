# frozen_string_literal: true

require_relative "../errors"

module Penstock
  # Names the reason in the headers of a record that was sent to the topic of `expire_in`. Not raised.
  class ExpiredError < StandardError
    include Error

    def initialize(message = "the record was older than its route's expire_in allows")
      super
    end
  end

  # A process of the pool (`run_on :processes`) has died while it ran a record: killed, out of memory, crashed in native code,
  # or ended by `exit!`. The record is known; it is retried like any other failed record.
  class WorkerDied < StandardError
    include Error

    # @return [Integer] process id
    attr_reader :pid
    # @return [Integer, nil] number of the signal that ended it
    attr_reader :signal
    # @return [Integer, nil] its exit code, where no signal ended it
    attr_reader :exit_code
    # @return [String]
    attr_reader :topic
    # @return [Integer]
    attr_reader :partition
    # @return [Integer, nil] the record it was running
    attr_reader :offset

    # @param signal [Integer, nil]
    # @param exit_code [Integer, nil]
    # @return [String] how a process ended
    def self.reason(signal, exit_code)
      return "ended by SIG#{Signal.signame(signal) || signal}" if signal
      exit_code ? "ended with exit code #{exit_code}" : "ended in an unknown way"
    end

    def initialize(pid:, topic:, partition:, offset:, signal: nil, exit_code: nil)
      @pid = pid
      @signal = signal
      @exit_code = exit_code
      @topic = topic
      @partition = partition
      @offset = offset
      super("process #{pid} #{self.class.reason(signal, exit_code)} while it ran #{topic}/#{partition} at offset #{offset}")
    end
  end

  # User code in a process of the pool raised an error of a class that this process doesn't know.
  class RemoteError < StandardError
    include Error

    # @return [String] the class as the other process knows it, "" for one without a name
    attr_reader :remote_class

    # @param remote_class [String]
    # @param message [String]
    def initialize(remote_class, message)
      @remote_class = remote_class
      super("#{remote_class.empty? ? "an error without a class name" : remote_class}: #{message}")
    end
  end
end
