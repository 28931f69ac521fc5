# frozen_string_literal: true

require "zlib"
require_relative "../../errors"

module Penstock
  module Processing
    module Admission
      # Computes the keys of records where they aren't simply the records' own: by the route's partitioner, and as slots where
      # keys are bound to slots (`distribution: :consistent`). Both may be user code: called on workers only, within {Prepare}.
      #
      # A record without a key (nil) runs alone. With the verb `virtual_partitions` the key is the text of what the partitioner
      # returned, and a custom reducer gets what was returned, as in Karafka.
      #
      # The partitioner is called twice for the first record of each batch: if it returns different keys it can't keep anything in
      # order, which is reported once per lane.
      class Partitioner
        # Raised when the partitioner returned two keys for one record.
        class Unstable < StandardError
          include Error
        end

        # Raised when the reducer returned something that isn't a slot.
        class NoSlot < StandardError
          include Error
        end

        # @param parallel [Routing::Parallel, nil]
        # @return [Partitioner, nil] nil where no user code is needed for keys
        def self.for(parallel)
          new(parallel) if parallel && (parallel.partitioner || parallel.consistent?)
        end

        # @param parallel [Routing::Parallel]
        def initialize(parallel)
          @partitioner = parallel.partitioner || :raw_key.to_proc
          @reducer = parallel.consistent? ? parallel.reducer || method(:slot) : nil
          @slots = parallel.max_partitions
          @checked = parallel.partitioner.nil?
          @always_keyed = parallel.text_keys
          @text = @always_keyed && parallel.reducer.nil?
        end

        # @param messages [Array<Message>]
        # @param undecodable [Hash] offsets of records that can't be deserialized: their raw key is used
        # @yieldparam error [Unstable] once
        # @return [Array<Object>] one key per message
        def call(messages, undecodable, &unstable)
          keys = messages.map { |message| key_of(message, undecodable) }
          check(messages, keys, undecodable, &unstable) unless @checked
          @reducer ? reduced(messages, keys, undecodable) : keys
        end

        private

        def key_of(message, undecodable)
          undecodable.key?(message.offset) ? message.raw_key : copy_of(returned(message))
        end

        def returned(message)
          key = @partitioner.call(message)
          (@text && !key.is_a?(String)) ? key.to_s : key
        end

        # Records are found by their key as long as they are buffered: the consumer or the partitioner may change the object
        # that the partitioner returned, so keep a copy. A key whose `hash` raises fails here, not on the loop.
        def copy_of(key)
          case key
          when String then key.frozen? ? key : key.dup.freeze
          when Array then key.map { |part| copy_of(part) }.freeze
          when Hash then key.to_h { |name, value| [copy_of(name), copy_of(value)] }.freeze
          else key.tap(&:hash)
          end
        end

        def check(messages, keys, undecodable)
          position = messages.index { |message| !undecodable.key?(message.offset) } or return
          return if keys[position].eql?(returned(messages[position]))
          @checked = true
          yield Unstable.new(unstable(messages[position]))
        end

        # No keys in the text: they may be personal data.
        def unstable(message)
          "the partitioner of #{message.topic} (#{place}) returned two different keys for #{message.uid}: records that belong " \
            "together may run in parallel and out of order. Let it depend on nothing but the message: no time, no random " \
            "number, no object without its own #{@text ? "`to_s`" : "`eql?` and `hash`"}"
        end

        def place
          file, line = @partitioner.source_location if @partitioner.respond_to?(:source_location)
          file ? "#{file}:#{line}" : @partitioner.class.to_s
        end

        def reduced(messages, keys, undecodable)
          keys.each_with_index.map do |key, index|
            offset = messages[index].offset
            alone = key.nil? && (!@always_keyed || undecodable.key?(offset))
            slot = alone ? offset % @slots : @reducer.call(key)
            raise NoSlot, no_slot(slot) unless slot.is_a?(Integer) && slot >= 0 && slot < @slots
            slot
          end
        end

        def no_slot(slot)
          "the reducer must return an Integer from 0 to #{@slots - 1} (max_partitions - 1), but returned #{slot.inspect[0, 40]}"
        end

        def slot(key) = Zlib.crc32(key.to_s) % @slots
      end
    end
  end
end
