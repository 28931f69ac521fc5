# frozen_string_literal: true

require_relative "../exit_reports"
require_relative "../weak_set"

module Penstock
  class Producer
    # Reports on stderr, when the process ends, the messages that producers still have because nobody closed them: they are lost.
    # That is after the `at_exit` of the application, which may close a producer: see {ExitReports}.
    module Unclosed
      # The sets hold nothing, so clients and buffers keep it.
      ID = :@unclosed_id
      private_constant :ID

      @clients = WeakSet.new
      @buffers = WeakSet.new

      class << self
        # @param client [OpenClient]
        # @param id [String] of the producer
        # @return [void]
        def watch(client, id) = add(@clients, client, id)

        # A producer that only buffers messages has no client.
        # @param buffer [Buffer]
        # @param id [String] of the producer
        # @return [void]
        def watch_buffer(buffer, id) = add(@buffers, buffer, id)

        # @param out [IO]
        # @return [void]
        def report(out = $stderr)
          buffered = count(@buffers, &:size)
          count(@clients) { |client| client.inherited? ? 0 : client.queue_size }
            .merge(buffered) { |_id, queued, more| queued + more }
            .each { |id, total| out.puts line(id, total, buffered.fetch(id, 0)) if total.positive? }
        rescue IOError, SystemCallError
          nil # stderr is closed
        end

        private

        def add(watched, one, id)
          one.instance_variable_set(ID, id)
          watched.add(one)
          nil
        end

        # @return [Hash{String => Integer}] by the producer's id
        def count(watched)
          counts = Hash.new(0)
          watched.to_a.each { |one| counts[one.instance_variable_get(ID)] += yield(one) }
          counts
        end

        def line(id, total, buffered)
          "penstock: the producer #{id} wasn't closed before the process ended: #{total} " \
            "#{(total == 1) ? "message that isn't" : "messages that aren't"} acknowledged by a broker may be lost" \
            "#{" (#{buffered} of #{total} in the buffer, not sent)" if buffered.positive?}. " \
            "Call `close` on the producer at the end, which #{"sends the buffer and " if buffered.positive?}waits for them"
        end
      end

      ExitReports.add { report }
    end
  end
end
