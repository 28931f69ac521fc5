# frozen_string_literal: true

module Penstock
  module Testing
    module Memory
      module Kafka
        # The path of a client's requests for committed offsets to the coordinator and back, and the faults on it.
        # {#arrange} sets the fates of the next requests; without one a request is answered. {#begin_elsewhere} is the fate of the
        # client's own request, for the place where it begins to fetch.
        class ReadPath
          SILENCE_MS = 1_500
          private_constant :SILENCE_MS

          # @param driver [Driver]
          def initialize(driver)
            @driver = driver
            @cluster = driver.cluster
            @fates = []
            @open = {}
            @elsewhere = []
            @moves = 0
          end

          # @param fate [Symbol] :reset (the connection ends before the answer comes), :silent (no answer until the request times
          #   out), :late, :twice, :damaged (on the way: metadata that don't belong to their offset), :moved (on the way: another
          #   offset, each time a different one)
          def arrange(fate) = @fates << fate

          # The client begins to fetch its next partition elsewhere: the answer to its own request was damaged on the way.
          # @param distance [Integer] odd, so that it is never where a moved answer is
          def begin_elsewhere(distance) = @elsewhere << distance

          # @param committed [Integer] the group's offset
          # @return [Integer] where the client begins
          def begin_at(committed)
            distance = @elsewhere.first
            return committed if distance.nil? || (committed + distance).negative?
            @cluster.observer.read_fares(@driver, :elsewhere)
            committed + @elsewhere.shift
          end

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
            when :moved then @driver.reply { deliver(token, moved(*result)) }
            else @driver.reply { deliver(token, result) }
            end
          end

          # The last character of the metadata is another one.
          def damaged(number, message, rows)
            [number, message, rows.map { |topic, partition, offset, metadata, *rest|
              [topic, partition, offset, metadata&.sub(/.\z/) { |last| last.succ[-1] }, *rest]
            }]
          end

          def moved(number, message, rows)
            distance = 2 * (@moves += 1)
            distance = -distance if @cluster.random.rand(3).zero?
            [number, message, rows.map { |topic, partition, offset, *rest|
              [topic, partition, (offset.negative? || (offset + distance).negative?) ? offset : offset + distance, *rest]
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
