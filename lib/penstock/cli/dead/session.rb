# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../deadline"
require_relative "../../errors"
require_relative "../../on_demand"
require_relative "../../printable"
require_relative "../../reading/ranges"
require_relative "../../reading/part"
require_relative "../target"
require_relative "filter"
require_relative "handled"
require_relative "letter"
require_relative "originals"
Penstock.load_constant :Messages, :Producer

module Penstock
  module CLI
    module Dead
      # Works on the dead letters of a topic for one command: finds them, replays or drops them, and records what was
      # done.
      class Session
        # Messages that are in flight at the same time.
        SLICE = 500
        # The largest message size the client library supports, in bytes.
        LARGEST = 1_000_000_000
        # Errors that don't concern the letter: the cluster can't be reached.
        AWAY = %i[transport all_brokers_down resolve ssl authentication timed_out msg_timed_out timed_out_queue].freeze
        # The command stops after this many of these errors without a delivery in between: otherwise each letter would
        # wait for a timeout.
        GIVEN_UP_AFTER = 3
        private_constant :LARGEST, :AWAY, :GIVEN_UP_AFTER

        # Result of a replay: `sent`, `refused` ({Letter} => reason), `stopped`, the error after which no more letters were tried,
        # and `unrecorded`, the offsets by partition of those that were sent and perhaps not recorded as handled. `away` counts
        # the errors since the last delivery that don't concern a letter; `last_error` is the last of them.
        Returned = Struct.new(:sent, :refused, :stopped, :away, :last_error, :unrecorded) do
          def initialize(*)
            super
            self.unrecorded ||= {}
          end

          # @return [Boolean] whether it stopped because the cluster can't be reached
          def away? = away >= GIVEN_UP_AFTER
        end

        # @param target [Target]
        # @param topic [String] of the dead letters
        # @param options [Hash] the command's
        def initialize(target, topic, options)
          @target = target
          @topic = topic
          @options = options
          @timeout_ms = options.fetch(:timeout, Target::LIMIT_S) * 1_000
          @filter = Filter.new(options, Clock::SYSTEM.wall_ms)
        end

        # @return [Filter]
        attr_reader :filter

        # @yieldparam letter [Letter] those that match the options, partition by partition
        # @return [void]
        def each
          @target.admin { |admin| look_up(admin) }
          records do |record|
            letter = Letter.new(record, handled: @handled.include?(record))
            chosen = @filter.fits?(letter) && (@options[:all] || !letter.handled?)
            @handled.passed(record, chosen || letter.handled?)
            yield letter if chosen
          end
        end

        # Each letter is sent by itself: one that can't be sent, or that the broker refuses, doesn't stop the others. Letters that
        # couldn't be recorded as handled are not sent: each further replay would send them again.
        #
        # @param letters [Array<Letter>]
        # @param to [String, nil] nil: the topic that each letter came from
        # @return [Returned]
        # @raise [KafkaError, WaitTimeoutError] nothing could be recorded, and nothing was sent
        def replay(letters, to)
          found = Returned.new([], {}, nil, 0)
          @target.admin { |admin| @handled.try_commit(admin, letters) }
          slices(letters).each { |slice| found.stopped ? break : return_slice(slice, to, found) }
          record_all(found)
          found
        ensure
          @producer&.close
          @originals&.close
        end

        # @param letter [Letter]
        # @param to [String, nil]
        # @return [String, nil] why it can't be sent, as far as that is known without trying
        def objection(letter, to)
          return if to
          return "it doesn't name its source: name a topic with --to" unless letter.source
          return if Producer::MessageRules.topic?(letter.source.topic)

          "it comes from #{Printable.inspect(letter.source.topic)}, which is not a valid topic name: name a topic with --to"
        end

        # @param letter [Letter] with omitted parts
        # @return [String, nil] why they are no longer available
        def gone(letter) = originals.gone(letter)

        # Commits also what was replayed.
        # @param letters [Array<Letter>] no longer listed from now on
        # @return [void]
        def drop(letters)
          letters.each { |letter| @handled.add(letter) }
          @target.admin { |admin| @handled.save(admin) } if @handled.added?
        end

        private

        # Letters with omitted parts are large: one at a time.
        def slices(letters)
          letters.slice_when { |one, other| one.reference? || other.reference? }.flat_map { |some| some.each_slice(SLICE).to_a }
        end

        def message(letter, to, original = nil)
          Processing::Failure::Message.replay(letter.record, topic: to, original: original,
            keep_timestamp: @options[:keep_timestamp] || false)
        end

        def return_slice(slice, to, found)
          offered = recordable(slice, found).to_h { |letter| [letter, offer(letter, to, found)] }.compact
          deadline = Deadline.in(producer.config.max_wait_timeout)
          sent = offered.select { |letter, handle| await(letter, handle, deadline, found) }.keys
          found.sent.concat(sent)
          found.away = 0 if sent.any?
          found.stopped = found.last_error if found.away?
          note(sent, found)
        end

        # @return [Array<Letter>]
        def recordable(slice, found)
          kept = @target.admin { |admin| @handled.recordable(admin, slice) }
          (slice - kept).each { |letter| found.refused[letter] = @handled.too_scattered(letter.partition) }
          slice & kept
        rescue KafkaError, WaitTimeoutError => error
          found.stopped = error
          []
        end

        # Commits that they were replayed, in the order of the slices; {#record_all} looks in the end whether that stays.
        def note(letters, found)
          letters.each { |letter| @handled.add(letter) }
          @target.admin { |admin| @handled.store(admin) } if letters.any?
        rescue KafkaError, WaitTimeoutError, Usage => error
          found.stopped = error
        end

        def record_all(found)
          drop([])
        rescue KafkaError, WaitTimeoutError, Usage => error
          found.stopped = error
          found.unrecorded = @handled.unwritten
        end

        # @return [Delivery::Handle, nil] nil: it isn't sent
        def offer(letter, to, found)
          producer.produce_async(message(letter, to, (originals.of(letter) if letter.reference?)))
        rescue Originals::GoneError => error
          found.refused[letter] = "its #{letter.omitted.join(" and its ")} was left out, and #{error.message}"
          nil
        rescue MessageInvalidError => error
          found.refused[letter] = error.message
          nil
        rescue ProduceError, KafkaError, WaitTimeoutError => error
          refuse(letter, error, found)
        end

        # @return [Boolean, nil] true: it was delivered
        def await(letter, handle, deadline, found)
          report = handle.wait(timeout_ms: deadline.remaining_ms, raise_response_error: false)
          return true unless report.error

          reason = "#{report.topic}: #{report.error.message}#{", but may have been sent anyway" if report.unknown?}"
          refuse(letter, report.error, found, reason)
        rescue WaitTimeoutError => error
          refuse(letter, error, found)
        end

        def refuse(letter, error, found, reason = error.message)
          found.refused[letter] = reason
          found.last_error = error
          found.away += 1 if error.is_a?(WaitTimeoutError) || AWAY.include?(error.code)
          nil
        end

        def originals = @originals ||= Originals.new(@target, @timeout_ms)

        def look_up(admin)
          count = admin.topic_info(@topic)[:partition_count]
          partitions = @filter.partition ? [@filter.partition] & (0...count).to_a : (0...count).to_a
          @bounds = admin.read_watermark_offsets(@topic => partitions).fetch(@topic, {}).reject { |_one, (low, high)|
            low == high
          }
          @handled = Handled.new(admin, @topic, @bounds)
        end

        # Those that the partitions have now.
        def records
          return if @bounds.empty?

          connection = @target.reader(@timeout_ms)
          parts = @bounds.map { |partition, (low, high)| Reading::Part.new(@topic, partition, low, high) }
          Reading::Ranges.new(connection, parts).each do |_part, batch, first, count|
            count.times { |index| yield Message.new(batch, first + index) }
          end
        ensure
          connection&.close
        end

        def producer
          kafka = {**@target.kafka, "message.max.bytes": LARGEST} # the record was accepted before
          token_provider = @target.token_provider
          @producer ||= Producer.new do |config|
            config.kafka = kafka
            config.max_payload_size = LARGEST
            config.oauth.token_provider_listener = token_provider || false
          end
        end
      end
    end
  end
end
