# frozen_string_literal: true

require "securerandom"
require_relative "../../clock"
require_relative "../../errors"
require_relative "../../producer"
require_relative "../offset_writer"
require_relative "../target"
require_relative "filter"
require_relative "handled"
require_relative "letter"
require_relative "originals"
require_relative "reader"

module Penstock
  module CLI
    module Dead
      # One command's way to the dead letters of a topic: looks them up, sends them back, remembers what was done with them.
      class Session
        # Messages that are sent back at once.
        SLICE = 500
        # As large as a message of the client library can be, in bytes.
        LARGEST = 1_000_000_000
        private_constant :LARGEST

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

        # @yieldparam letter [Letter] those the options are about, a partition after another
        # @return [void]
        def each
          @target.admin { |admin| look_up(admin) }
          reader.each(@topic, @bounds.transform_values { |_low, high| high }) do |record|
            letter = Letter.new(record, handled: @handled.include?(record))
            yield letter if @filter.fits?(letter) && (@options[:all] || !letter.handled?)
          end
        end

        # @param letters [Array<Letter>]
        # @param to [String, nil] nil: the topic each came from
        # @return [Hash{Letter => String}] those that weren't sent, because what was left out of them is gone, with how that is
        # @raise [ProduceManyError] some weren't delivered: what was sent together with them is sent again the next time
        def replay(letters, to)
          refused = {}
          slices(letters).each do |slice|
            sent = slice.first.reference? ? [completed(slice.first, to, refused)].compact : slice.map { |one| message(one, to) }
            next if sent.empty?

            producer.produce_many_sync(sent)
            drop(slice)
          end
          refused
        ensure
          @producer&.close
          @originals&.close
        end

        # @param letter [Letter] from which something was left out
        # @return [String, nil] why that can't be had any more
        def gone(letter) = originals.gone(letter)

        # @param letters [Array<Letter>] from now on they aren't shown
        # @return [void]
        def drop(letters)
          letters.each { |letter| @handled.add(letter) }
          @handled.save(OffsetWriter.new(settings, @timeout_ms, @target.token_provider))
        end

        private

        # Those from which something was left out are large: one at a time.
        def slices(letters)
          letters.slice_when { |one, other| one.reference? || other.reference? }.flat_map { |some| some.each_slice(SLICE).to_a }
        end

        def message(letter, to, original = nil)
          Processing::Failure::Message.replay(letter.record, topic: to, original: original)
        end

        def completed(letter, to, refused)
          message(letter, to, originals.of(letter))
        rescue Originals::GoneError => error
          refused[letter] = error.message
          nil
        end

        def originals = @originals ||= Originals.new(@target, settings, @timeout_ms)

        def look_up(admin)
          count = admin.topic_info(@topic)[:partition_count]
          partitions = @filter.partition ? [@filter.partition] & (0...count).to_a : (0...count).to_a
          @bounds = admin.read_watermark_offsets(@topic => partitions).fetch(@topic, {}).reject { |_one, (low, high)|
            low == high
          }
          @handled = Handled.new(admin, @topic, @bounds)
        end

        def reader = Reader.new(@target, {**settings, "group.id" => "penstock-dead-#{SecureRandom.hex(6)}"}, @timeout_ms)

        def settings = @settings ||= @target.consumer_settings.except("statistics.interval.ms")

        def producer
          kafka = {**@target.kafka, "message.max.bytes": LARGEST} # what goes back was taken before
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
