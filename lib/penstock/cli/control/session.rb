# frozen_string_literal: true

require "json"
require "socket"
require_relative "../../deadline"
require_relative "../../server/control"
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
        private_constant :ANSWER_MS, :MOST_BYTES

        # @param env [Hash, ENV]
        # @param answer_ms [Integer] time limit for an answer, from its first byte to its last
        def initialize(env, answer_ms: ANSWER_MS)
          @folder = Server::Control.folder(env)
          @answer_ms = answer_ms
        end

        # @return [Array<Integer>] process ids
        def running
          Dir.glob(File.join(@folder, "*.sock")).filter_map { |path| Integer(File.basename(path, ".sock"), exception: false) }
            .select { |pid| there?(pid) }.sort
        end

        # @param pid [Integer, nil] this process; nil for the only one
        # @return [Integer]
        # @raise [Usage] no process was found, or more than one
        def one(pid)
          found = running
          return pid if pid && found.include?(pid)
          raise Usage, nobody(pid) if pid || found.empty?
          return found.first if found.size == 1
          raise Usage, "which one? #{names(found)}: use --pid"
        end

        # @param pid [Integer, nil] only this process
        # @return [Array<Hash>] status of each process, without those that end in the meantime; never empty
        # @raise [Usage] no process was found, or one doesn't answer
        def statuses(pid = nil)
          found = (pid ? [one(pid)] : running).filter_map { |each| status_of(each) }
          raise Usage, nobody(pid) if found.empty?
          found
        end

        # @param pid [Integer]
        # @param command [String]
        # @return [Object] the answer, Symbols as keys
        # @raise [Usage] the process refused it, or didn't answer
        def ask(pid, command)
          reply = exchange(pid, command)
          raise Usage, "process #{pid}: #{reply[:error]}" unless reply[:ok]
          reply[:answer]
        rescue SystemCallError, IOError, JSON::ParserError => error
          raise Usage, "process #{pid} doesn't answer: #{error.message}"
        end

        private

        def status_of(pid)
          ask(pid, "status")
        rescue Usage
          raise if there?(pid)
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
