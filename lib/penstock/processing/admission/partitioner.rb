# frozen_string_literal: true

require "zlib"
require_relative "../../errors"

module Penstock
  module Processing
    module Admission
      # The keys of records where they aren't simply the records' own: a partitioner of the route's, and slots where keys are
      # bound to them (`distribution: :consistent`). Both may be user code: called on workers only, within {Prepare}.
      #
      # A record without a key (nil) runs alone. The first record of each batch is asked for twice: a partitioner that answers
      # differently then can't keep anything in order, which is told once for the lane.
      class Partitioner
        # The partitioner answered two keys for one record.
        class Unstable < StandardError
          include Error
        end

        # The reducer answered something that is no slot.
        class NoSlot < StandardError
          include Error
        end

        # @param parallel [Routing::Parallel, nil]
        # @return [Partitioner, nil] nil where keys can be had without user code
        def self.for(parallel)
          new(parallel) if parallel && (parallel.partitioner || parallel.consistent?)
        end

        # @param parallel [Routing::Parallel]
        def initialize(parallel)
          @partitioner = parallel.partitioner || :raw_key.to_proc
          @reducer = parallel.consistent? ? parallel.reducer || method(:slot) : nil
          @slots = parallel.max_partitions
          @checked = parallel.partitioner.nil?
        end

        # @param messages [Array<Message>]
        # @param undecodable [Hash] offsets of records that can't be read: they go by their raw key
        # @yieldparam error [Unstable] once
        # @return [Array<Object>] one key a message
        def call(messages, undecodable, &unstable)
          keys = messages.map { |message| key_of(message, undecodable) }
          check(messages, keys, undecodable, &unstable) unless @checked
          @reducer ? reduced(messages, keys) : keys
        end

        private

        def key_of(message, undecodable)
          undecodable.key?(message.offset) ? message.raw_key : own(@partitioner.call(message))
        end

        # Records are found by their key for as long as they are at hand: whoever changes what the partitioner answered, the
        # consumer or the partitioner itself, mustn't change that. One whose `hash` raises does it here, not on the loop.
        def own(key)
          case key
          when String then key.frozen? ? key : key.dup.freeze
          when Array then key.map { |part| own(part) }.freeze
          when Hash then key.to_h { |name, value| [own(name), own(value)] }.freeze
          else key.tap(&:hash)
          end
        end

        def check(messages, keys, undecodable)
          position = messages.index { |message| !undecodable.key?(message.offset) } or return
          return if keys[position].eql?(@partitioner.call(messages[position]))
          @checked = true
          yield Unstable.new(unstable(messages[position]))
        end

        # No keys in the text: they may be somebody's data.
        def unstable(message)
          "the partitioner of #{message.topic} (#{place}) answered two different keys for #{message.uid}: records that belong " \
            "together may run side by side and out of order. Let it depend on nothing but the message: no time, no random " \
            "number, no object without its own `eql?` and `hash`"
        end

        def place
          file, line = @partitioner.source_location if @partitioner.respond_to?(:source_location)
          file ? "#{file}:#{line}" : @partitioner.class.to_s
        end

        def reduced(messages, keys)
          keys.each_with_index.map do |key, index|
            slot = key.nil? ? messages[index].offset % @slots : @reducer.call(key)
            raise NoSlot, no_slot(slot) unless slot.is_a?(Integer) && slot >= 0 && slot < @slots
            slot
          end
        end

        def no_slot(slot)
          "the reducer must answer an Integer from 0 to #{@slots - 1} (max_partitions - 1), is #{slot.inspect[0, 40]}"
        end

        def slot(key) = Zlib.crc32(key.to_s) % @slots
      end
    end
  end
end
