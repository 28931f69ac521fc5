# frozen_string_literal: true

module RailsShop
  # A child process whose output goes to a file.
  class Child
    LINES = 30

    # @return [Integer]
    attr_reader :pid

    # @param name [String] for messages
    # @param log [String] path
    def initialize(name, environment, command, log:)
      @name = name
      @log = log
      @pid = Process.spawn(environment, *command, chdir: Processes::ROOT, in: File::NULL, out: log, err: %i[child out])
    end

    # @return [Process::Status, nil]
    def status = @status ||= Process.wait2(@pid, Process::WNOHANG)&.last

    # @raise [Failed] it has ended
    def check!
      raise Failed, "the #{@name} ended by itself (#{status}). The end of its log:\n#{tail}" if status
    end

    # @return [void]
    def signal(name)
      Process.kill(name, @pid) unless status
    end

    # @return [String]
    def log = File.read(@log)

    # @return [String]
    def tail = log.lines.last(LINES).join
  end
end
