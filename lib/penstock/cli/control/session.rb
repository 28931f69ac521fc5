# frozen_string_literal: true

require "json"
require "socket"
require_relative "../../process/control"
require_relative "../failure"

module Penstock
  module CLI
    module Control
      # Finds the servers and swarms of this user that run on this machine, and talks to them. Sockets of processes that are gone
      # are put away.
      class Session
        ANSWER_S = 5.0
        private_constant :ANSWER_S

        # @param env [Hash, ENV]
        def initialize(env)
          @folder = ServerProcess::Control.folder(env)
        end

        # @return [Array<Integer>] process ids
        def running
          Dir.glob(File.join(@folder, "*.sock")).filter_map { |path| Integer(File.basename(path, ".sock"), exception: false) }
            .select { |pid| there?(pid) }.sort
        end

        # @param pid [Integer, nil] this one; nil for the only one there is
        # @return [Integer]
        # @raise [Usage] there is none, or more than one
        def one(pid)
          found = running
          return pid if pid && found.include?(pid)
          raise Usage, nobody(pid) if pid || found.empty?
          return found.first if found.size == 1
          raise Usage, "which one? #{names(found)}: say --pid"
        end

        # @param pid [Integer, nil] of this one alone
        # @return [Array<Hash>] what each says about itself, without those that end meanwhile; never empty
        # @raise [Usage] there is none, or one doesn't answer
        def statuses(pid = nil)
          found = (pid ? [one(pid)] : running).filter_map { |each| status_of(each) }
          raise Usage, nobody(pid) if found.empty?
          found
        end

        # @param pid [Integer]
        # @param command [String]
        # @return [Object] the answer, Symbols as keys
        # @raise [Usage] it was refused, or nobody answered
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

        def names(pids) = pids.empty? ? "none does" : "there are #{pids.join(", ")}"

        def path(pid) = File.join(@folder, "#{pid}.sock")

        def there?(pid)
          UNIXSocket.open(path(pid)) { true }
        rescue Errno::ECONNREFUSED
          File.unlink(path(pid))
          false
        rescue SystemCallError
          false
        end

        def exchange(pid, command)
          UNIXSocket.open(path(pid)) do |socket|
            socket.write(JSON.generate(command: command), "\n")
            line = +""
            until line.end_with?("\n")
              raise IOError, "nothing came within #{ANSWER_S.to_i} s" unless socket.wait_readable(ANSWER_S)
              line << socket.readpartial(65_536)
            end
            JSON.parse(line, symbolize_names: true)
          end
        end
      end
    end
  end
end
