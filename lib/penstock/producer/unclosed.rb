# frozen_string_literal: true

module Penstock
  class Producer
    # Reports on stderr, when the process ends, the messages that producers still have because nobody closed them: they are lost.
    # Its `at_exit` is registered when this file is loaded, so that those of the application, which may close a producer, run
    # before it.
    module Unclosed
      @clients = ObjectSpace::WeakMap.new

      class << self
        # @param client [OpenClient]
        # @param id [String] of the producer
        # @return [void]
        def watch(client, id) = @clients[client] = id

        # @param out [IO]
        # @return [void]
        def report(out = $stderr)
          @clients.each_pair do |client, id|
            count = client.inherited? ? 0 : client.queue_size
            next if count.zero?

            out.puts "penstock: the producer #{id} wasn't closed before the process ended: #{count} " \
              "#{(count == 1) ? "message that isn't" : "messages that aren't"} acknowledged by a broker may be lost. Call " \
              "`close` on the producer at the end, which waits for them"
          end
        rescue IOError, SystemCallError
          nil # stderr is closed
        end
      end

      at_exit { report }
    end
  end
end
