# frozen_string_literal: true

require "etc"
require "fileutils"
require "json"
require "tmpdir"
require_relative "../printable"
require_relative "socket_server"

module Penstock
  module Server
    # Lets the user who started a process ask and order it, through a Unix socket that nobody else may open: one line of JSON in
    # (`{"command": "status"}`), one out, then the connection is closed. Commands only enqueue or read: what they lead to is done
    # by the process's main thread.
    #
    # One thread, the {SocketServer}'s. Ends with {#close}.
    class Control
      LONGEST_LINE = 4_096
      TOO_LONG = {ok: false, error: "a request has at most #{LONGEST_LINE} bytes"}.freeze
      private_constant :LONGEST_LINE, :TOO_LONG

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
        rules = {ending: /\n/, longest: LONGEST_LINE, too_long: line(TOO_LONG)}
        @server = SocketServer.new(socket, **rules) { |text| line(reply(text)) }.start(threads, "penstock control")
        self
      end

      # Any thread.
      def close
        @server&.close
        @server = nil
        File.unlink(@path)
      rescue Errno::ENOENT
        nil
      end

      # In a child of a fork: the socket is its parent's.
      def forget
        @server&.forget
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

      # What a client sent may be in the answer, so it has to be made valid first.
      def line(reply) = "#{Printable.json(reply)}\n"

      def reply(text)
        request = JSON.parse(Printable.utf8(text))
        return refusal("a request is an object with a command") unless request.is_a?(Hash) && request["command"].is_a?(String)
        name = request["command"]
        command = @commands[name] or return refusal("there is no command #{Printable.inspect(name)}")
        {ok: true, answer: command.call}
      rescue StandardError, ScriptError, SystemStackError => error
        refusal(Printable.error(error))
      end

      def refusal(text) = {ok: false, error: text}
    end
  end
end
