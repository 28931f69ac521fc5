# frozen_string_literal: true

module Penstock
  module Testing
    module Memory
      module Kafka
        # The path of a client's requests for committed offsets to the coordinator and back, and the faults on it.
        # {#arrange} sets the fates of the next requests; without one a request is answered.
        class ReadPath
          SILENCE_MS = 1_500
          private_constant :SILENCE_MS

          # @param driver [Driver]
          def initialize(driver)
            @driver = driver
            @cluster = driver.cluster
            @fates = []
            @open = {}
          end

          # @param fate [Symbol] :reset (the connection ends before the answer comes), :silent (no answer until the request times
          #   out), :late, :twice, :damaged (on the way: metadata that don't belong to their offset)
          def arrange(fate) = @fates << fate

          # @return [true]
          def send_request(token, keys)
            @open[token] = true
            fate = @fates.shift
            @cluster.observer.read_fares(@driver, fate) if fate
            @driver.request { answer(token, result(keys), fate) }
            true
          end

          # The connection to the coordinator ends: requests in flight fail.
          # @return [Boolean] whether there were any
          def reset
            tokens = @open.keys
            tokens.each { |token| @driver.from_broker { fail_with(token, :transport) } }
            tokens.any?
          end

          private

          def result(keys)
            trouble = @driver.group.trouble
            trouble ? [Cluster.number(trouble), trouble.to_s, []] : [0, nil, @driver.group.offsets(keys)]
          end

          def answer(token, result, fate)
            case fate
            when :reset then @driver.reply { fail_with(token, :transport) }
            when :silent then later(SILENCE_MS) { fail_with(token, :timed_out) }
            when :late then later(@cluster.random.rand(300..3_000)) { deliver(token, result) }
            when :twice then 2.times { @driver.reply { @driver.push([:committed, token, *result]) } }
            when :damaged then @driver.reply { deliver(token, damaged(*result)) }
            else @driver.reply { deliver(token, result) }
            end
          end

          # The last character of the metadata is another one.
          def damaged(number, message, rows)
            [number, message, rows.map { |topic, partition, offset, metadata, *rest|
              [topic, partition, offset, metadata&.sub(/.\z/) { |last| last.succ[-1] }, *rest]
            }]
          end

          def later(delay_ms, &block) = @cluster.timeline.after(delay_ms) { @driver.from_broker(&block) }

          def fail_with(token, name) = deliver(token, [Cluster.number(name), name.to_s, []])

          def deliver(token, result) = (@driver.push([:committed, token, *result]) if @open.delete(token))
        end
      end
    end
  end
end
