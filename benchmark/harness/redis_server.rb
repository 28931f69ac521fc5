# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"
require_relative "../../test/support/free_port"
require_relative "../../test/support/wait"
require_relative "ruby_side"

module Bench
  # Redis for the sides that need it: a process with its own port and an empty folder for each run, with the settings that
  # the program has without a file: snapshots, no log of appended commands. The program is the machine's own or Debian's,
  # unpacked into benchmark/peers/vendor: installing the package would start a server.
  class RedisServer
    # Raised when there is no program.
    class Missing < StandardError; end

    MISSING = "redis-server isn't installed, and can't be fetched (Debian's package redis-server)"
    FOLDER = File.join(RubySide::VENDOR, "redis")
    START_SECONDS = 20

    class << self
      # @yieldparam url [String] of a server that answers; it ends after the block
      def open(program = self.program)
        raise Missing, MISSING unless program

        RubySide.in_folder("redis") do |data|
          server = new(program, data)
          yield server.start.url
        ensure
          server&.stop
        end
      end

      # @return [String, nil] path of the program
      def program
        folders = [*ENV.fetch("PATH", "").split(File::PATH_SEPARATOR), File.join(FOLDER, "usr/bin")]
        folders.map { |folder| File.join(folder, "redis-server") }.find { |path| File.executable?(path) }
      end

      # @return [String, nil]
      def version
        program && IO.popen([environment, program, "--version"], &:read)[/v=(\S+)/, 1]
      end

      # Fetches the package and those of its libraries that this machine doesn't have. Changes nothing outside of FOLDER.
      #
      # @return [Boolean] whether there is a program
      def install
        return true if program

        warn "bin/bench: fetching redis-server (Debian's package, 2 MB) into #{FOLDER.delete_prefix("#{RubySide::ROOT}/")}"
        fetch || (::Process.uid.zero? && system("apt-get", "update", "-qq", out: File::NULL, err: File::NULL) && fetch)
        !program.nil?
      end

      # @return [Hash<String, String>] in which the program finds libraries that were unpacked with it
      def environment
        folders = Dir[File.join(FOLDER, "**/*.so.*")].map { |path| File.dirname(path) }.uniq
        folders.empty? ? {} : {"LD_LIBRARY_PATH" => folders.join(":")}
      end

      private

      def fetch
        Dir.mktmpdir do |archives|
          FileUtils.mkdir_p(File.join(archives, "partial"))
          next false unless system("apt-get", "install", "--download-only", "-y", "-qq", "--no-install-recommends",
            "-o", "Dir::Cache::archives=#{archives}", "-o", "Debug::NoLocking=1", "redis-server",
            out: File::NULL, err: File::NULL)

          Dir[File.join(archives, "*.deb")].all? { |package| system("dpkg-deb", "-x", package, FOLDER) }
        end
      end
    end

    def initialize(program, data)
      @program = program
      @data = data
      @port = Penstock::TestSupport::FreePort.take.first
    end

    def url = "redis://127.0.0.1:#{@port}/0"

    # @return [RedisServer] itself, when it answers
    def start
      @pid = ::Process.spawn(self.class.environment, @program, "--port", @port.to_s, "--bind", "127.0.0.1", "--dir", @data,
        :in => File::NULL, [:out, :err] => [log, "w"])
      Penstock::TestSupport::Wait.wait_until(START_SECONDS, "answer from Redis", state: -> { File.read(log) }) { ready? }
      self
    end

    # At once: on TERM it would first write a snapshot of data that nobody needs.
    def stop
      return unless @pid

      ::Process.kill("KILL", @pid)
      ::Process.wait(@pid)
      @pid = nil
    end

    private

    def ready?
      if ::Process.wait(@pid, ::Process::WNOHANG)
        @pid = nil
        raise "Redis ended while starting:\n#{File.read(log)}"
      end
      Socket.tcp("127.0.0.1", @port, connect_timeout: 1) { |socket| socket.write("PING\r\n") && socket.gets == "+PONG\r\n" }
    rescue SystemCallError
      false
    end

    def log = RubySide.log_for("redis")
  end
end
