# frozen_string_literal: true

require "etc"
require "fileutils"
require "json"
require "socket"
require "tmpdir"

module Penstock
  module ServerProcess
    # Lets the user who started a process ask and order it, through a Unix socket that nobody else may open: one line of JSON in
    # (`{"command": "status"}`), one out. Commands only enqueue or read: what they lead to is done by the process's main thread.
    #
    # One thread, born by {#start}, which answers one client after another and waits for none longer than a second. Ends with
    # {#close}.
    class Control
      WAIT_S = 1.0
      LONGEST_LINE = 4_096
      private_constant :WAIT_S, :LONGEST_LINE

      class << self
        # Where the sockets of this user's processes are, each named by its process id.
        # @param env [Hash, ENV]
        # @return [String]
        def folder(env = ENV)
          File.join(env["PENSTOCK_RUN_DIR"] || env["XDG_RUNTIME_DIR"] || Dir.tmpdir, "penstock-#{::Process.uid}")
        end
      end

      # @return [String]
      attr_reader :path

      # @param commands [Hash{String => #call}] each answers what JSON can say
      # @param folder [String]
      def initialize(commands, folder: self.class.folder)
        @commands = commands
        @folder = folder
        @path = File.join(folder, "#{::Process.pid}.sock")
      end

      # @param threads [#start] where threads are born
      # @return [self]
      # @raise [SystemCallError] there is no place for a socket
      def start(threads)
        prepare
        File.unlink(@path) if File.socket?(@path) # of a process that had our number
        @server = UNIXServer.new(@path)
        File.chmod(0o600, @path)
        threads.start("penstock control") { serve }
        self
      end

      # Any thread.
      def close
        forget
        File.unlink(@path)
      rescue Errno::ENOENT
        nil
      end

      # In a child of a fork: the socket is its parent's.
      def forget
        @server&.close
        @server = nil
      end

      private

      # Somebody else's folder of that name in a shared one would be a trap.
      def prepare
        FileUtils.mkdir_p(File.dirname(@folder))
        Dir.mkdir(@folder, 0o700)
      rescue Errno::EEXIST
        stat = File.lstat(@folder)
        return if stat.directory? && stat.owned? && (stat.mode & 0o077).zero?
        raise Errno::EPERM, "#{@folder} isn't a folder of this user's alone"
      end

      def serve
        while (client = @server&.accept)
          answer(client)
        end
      rescue IOError, Errno::EBADF # closed
        nil
      end

      def answer(client)
        line = read_line(client)
        client.write(JSON.generate(reply(line)), "\n") if line
      rescue SystemCallError, IOError # it is gone
        nil
      ensure
        client.close
      end

      def read_line(client)
        line = +""
        until line.end_with?("\n")
          return unless line.bytesize < LONGEST_LINE && client.wait_readable(WAIT_S)
          line << client.readpartial(LONGEST_LINE)
        end
        line
      end

      def reply(line)
        name = JSON.parse(line).fetch("command")
        command = @commands[name] or return {ok: false, error: "there is no command #{name.inspect}"}
        {ok: true, answer: command.call}
      rescue => error
        {ok: false, error: "#{error.class}: #{error.message}"}
      end
    end
  end
end
