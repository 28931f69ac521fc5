# frozen_string_literal: true

module Penstock
  class Producer
    # Reports on stderr, when the process ends, the messages that producers still have because nobody closed them: they are lost.
    # Its `at_exit` is registered when this file is loaded, so that those of the application, which may close a producer, run
    # before it.
    module Unclosed
      @clients = ObjectSpace::WeakMap.new
      @buffers = ObjectSpace::WeakMap.new

      class << self
        # @param client [OpenClient]
        # @param id [String] of the producer
        # @return [void]
        def watch(client, id) = @clients[client] = id

        # A producer that only buffers messages has no client.
        # @param buffer [Buffer]
        # @param id [String] of the producer
        # @return [void]
        def watch_buffer(buffer, id) = @buffers[buffer] = id

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

        # @return [Hash{String => Integer}] by the producer's id
        def count(watched)
          counts = Hash.new(0)
          watched.each_pair { |one, id| counts[id] += yield(one) }
          counts
        end

        def line(id, total, buffered)
          "penstock: the producer #{id} wasn't closed before the process ended: #{total} " \
            "#{(total == 1) ? "message that isn't" : "messages that aren't"} acknowledged by a broker may be lost" \
            "#{" (#{buffered} of #{total} in the buffer, not sent)" if buffered.positive?}. " \
            "Call `close` on the producer at the end, which #{"sends the buffer and " if buffered.positive?}waits for them"
        end
      end

      at_exit { report }
    end
  end
end
