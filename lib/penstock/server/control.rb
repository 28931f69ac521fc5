# frozen_string_literal: true

require "etc"
require "fileutils"
require "json"
require "tmpdir"
require_relative "../printable"
require_relative "socket_server"

module Penstock
  module Server
    # Accepts commands from the user who started the process, through a Unix socket that no other user can open: one
    # line of JSON in (`{"command": "status"}`), one out, then the connection is closed. Commands only enqueue or read;
    # the process's main thread does the work.
    #
    # One thread, the {SocketServer}'s. Ends with {#close}.
    class Control
      LONGEST_LINE = 4_096
      TOO_LONG = {ok: false, error: "a request has at most #{LONGEST_LINE} bytes"}.freeze
      private_constant :LONGEST_LINE, :TOO_LONG

      # Raised by a command that the process can't carry out in its state; the message is for the user.
      Refused = Class.new(StandardError)

      class << self
        # Folder of the sockets of this user's processes, each named by its process id. An empty variable counts as unset.
        # @param env [Hash, ENV]
        # @return [String]
        def folder(env = ENV)
          named = env.values_at("PENSTOCK_RUN_DIR", "XDG_RUNTIME_DIR").find { |folder| !folder.to_s.empty? }
          File.join(named || Dir.tmpdir, "penstock-#{::Process.uid}")
        end
      end

      # @return [String]
      attr_reader :path

      # @param commands [Hash{String => #call}] each returns a value for JSON
      # @param folder [String]
      def initialize(commands, folder: self.class.folder)
        @commands = commands
        @folder = folder
        @path = File.join(folder, "#{::Process.pid}.sock")
      end

      # @param threads [#start] starts the thread
      # @return [self]
      # @raise [SystemCallError] the socket can't be created
      def start(threads)
        prepare
        File.unlink(@path) if File.socket?(@path) # left by an earlier process with the same id
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

      # Called in a child of a fork: the socket belongs to its parent.
      def forget
        @server&.forget
        @server = nil
      end

      private

      # In a shared folder another user may have created a folder of this name.
      def prepare
        FileUtils.mkdir_p(File.dirname(@folder))
        Dir.mkdir(@folder, 0o700)
      rescue Errno::EEXIST
        stat = File.lstat(@folder)
        return if stat.directory? && stat.owned? && (stat.mode & 0o077).zero?
        raise Errno::EPERM, "#{@folder} is not a folder that only this user can access"
      end

      # The answer may contain the client's text, which has to be made valid first.
      def line(reply) = "#{Printable.json(reply)}\n"

      def reply(text)
        request = JSON.parse(Printable.utf8(text))
        return refusal("a request needs a command") unless request.is_a?(Hash) && request["command"].is_a?(String)
        name = request["command"]
        command = @commands[name] or return refusal("there is no command #{Printable.inspect(name)}")
        {ok: true, answer: command.call}
      rescue Refused => error
        refusal(Printable.line(error.message))
      rescue StandardError, ScriptError, SystemStackError => error
        refusal(Printable.error(error))
      end

      def refusal(text) = {ok: false, error: text}
    end
  end
end
