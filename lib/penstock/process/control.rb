# frozen_string_literal: true

require "etc"
require "fileutils"
require "json"
require "tmpdir"
require_relative "socket_server"

module Penstock
  module ServerProcess
    # Lets the user who started a process ask and order it, through a Unix socket that nobody else may open: one line of JSON in
    # (`{"command": "status"}`), one out. Commands only enqueue or read: what they lead to is done by the process's main thread.
    #
    # One thread, the {SocketServer}'s. Ends with {#close}.
    class Control
      LONGEST_LINE = 4_096
      private_constant :LONGEST_LINE

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
        socket = UNIXServer.new(@path)
        File.chmod(0o600, @path)
        @server = SocketServer.new(socket, ending: "\n", longest: LONGEST_LINE) { |line| "#{JSON.generate(reply(line))}\n" }
        @server.start(threads, "penstock control")
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
