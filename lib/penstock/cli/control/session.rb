# frozen_string_literal: true

require "json"
require "socket"
require_relative "../../deadline"
require_relative "../../server/control"
require_relative "../../server/place"
require_relative "../failure"

module Penstock
  module CLI
    module Control
      # Finds the servers and swarms that this user runs on this machine, and talks to them. Deletes the sockets of
      # processes that no longer exist.
      class Session
        ANSWER_MS = 5_000
        # Longest answer that is accepted: more than a swarm of a thousand nodes sends.
        MOST_BYTES = 16 * 1024 * 1024
        # State, in {#statuses}, of a process that doesn't answer.
        SILENT = "no_answer"
        private_constant :ANSWER_MS, :MOST_BYTES

        # @param env [Hash, ENV]
        # @param dir [String] current folder
        # @param answer_ms [Integer] time limit for an answer, from its first byte to its last
        def initialize(env, dir: Dir.pwd, answer_ms: ANSWER_MS)
          @folder = Server::Control.folder(env)
          @place = Server::Place.of(env, dir)
          @answer_ms = answer_ms
        end

        # @return [Array<Integer>] process ids
        def running
          Dir.glob(File.join(@folder, "*.sock")).filter_map { |path| Integer(File.basename(path, ".sock"), exception: false) }
            .select { |pid| there?(pid) }.sort
        end

        # @param pid [Integer, nil] this process, of whichever application; nil for the only one of the application in whose
        #   folder the command was called
        # @return [Integer]
        # @raise [Usage] no process was found, or more than one
        def one(pid)
          return pid if pid && running.include?(pid)
          found = pid ? [] : described
          raise Usage, nobody(pid) if found.empty?
          own = found.select { |status| @place.same?(status[:root], status[:folder]) }
          return own.first[:pid] if own.size == 1
          raise Usage, "which one? There are #{listed(own)}. Name one with --pid" if own.any?
          silent = found.select { |status| status[:state] == SILENT }
          raise Usage, unknown(silent, found - silent) if silent.any?
          raise Usage, "no server or swarm of the application in #{@place.root} runs here. Others of this user are: " \
            "#{listed(found)}. Name one with --pid, or call the command in its folder"
        end

        # @param pid [Integer, nil] only this process
        # @return [Array<Hash>] status of each process, without those that end in the meantime; never empty. One that doesn't
        #   answer hides no other: it has the state {SILENT}, isn't live, and has the reason
        # @raise [Usage] no process was found
        def statuses(pid = nil)
          found = pid ? described([one(pid)]) : described
          raise Usage, nobody(pid) if found.empty?
          found
        end

        # @param pid [Integer]
        # @param command [String]
        # @return [Object] the answer, Symbols as keys
        # @raise [Usage] the process refused it, or didn't answer
        def send_command(pid, command)
          reply = exchange(pid, command)
          raise Usage, "process #{pid}: #{reply[:error]}" unless reply[:ok]
          reply[:answer]
        rescue SystemCallError, IOError, JSON::ParserError => error
          raise Usage, "process #{pid} doesn't answer: #{error.message}"
        end

        private

        def described(pids = running) = pids.filter_map { |pid| status_of(pid) }

        def listed(statuses)
          statuses.map { |status|
            root = "in #{status[:root]}" if status[:root]
            ["process #{status[:pid]}", status[:kind], status[:client_id], root].compact.join(" ")
          }.join("; ")
        end

        def status_of(pid)
          send_command(pid, "status")
        rescue Usage => error
          {pid: pid, state: SILENT, live: false, reason: error.message.sub(/\Aprocess \d+:? /, "")} if there?(pid)
        end

        # @param silent [Array<Hash>] processes that don't answer
        # @param others [Array<Hash>] those of other applications
        def unknown(silent, others)
          lines = silent.map { |status| "process #{status[:pid]} #{status[:reason]}" }
          lines << "others of this user are #{listed(others)}" if others.any?
          "no server or swarm that answers is one of the application in #{@place.root}: #{lines.join("; ")}. If a process that " \
            "doesn't answer is this application's, end it with `kill`, at last with `kill -KILL`"
        end

        def nobody(pid)
          return "no server or swarm of this user runs here (looked in #{@folder})" unless pid
          "no server or swarm runs here with the process id #{pid}: #{names(running)}"
        end

        def names(pids) = pids.empty? ? "there is none" : "there are #{pids.join(", ")}"

        def path(pid) = File.join(@folder, "#{pid}.sock")

        def there?(pid)
          connected(pid) { true }
        rescue Errno::ECONNREFUSED
          File.unlink(path(pid))
          false
        rescue Errno::EAGAIN # its queue of waiting connections is full
          true
        rescue SystemCallError
          false
        end

        # Never blocks: connecting to a process that accepts nothing and whose queue is full would block forever.
        def connected(pid)
          socket = Socket.new(:UNIX, :STREAM)
          socket.connect_nonblock(Addrinfo.unix(path(pid)))
          yield socket
        ensure
          socket&.close
        end

        def exchange(pid, command)
          connected(pid) do |socket|
            socket.write(JSON.generate(command: command), "\n")
            JSON.parse(line(socket).force_encoding(Encoding::UTF_8), symbolize_names: true)
          end
        end

        def line(socket)
          deadline = Deadline.in(@answer_ms)
          bytes = String.new(encoding: Encoding::BINARY)
          until bytes.end_with?("\n")
            raise IOError, "its answer has more than #{MOST_BYTES} bytes" if bytes.bytesize > MOST_BYTES
            socket.wait_readable(deadline.remaining_ms / 1_000.0) or
              raise IOError, "timed out after #{@answer_ms / 1_000.0} s"
            bytes << socket.readpartial(65_536)
          end
          bytes
        end
      end
    end
  end
end
