# frozen_string_literal: true

module Penstock; class Messages; end; end # its parts open it, too: see ON_DEMAND
require_relative "../compat/karafka/constants"
require_relative "../on_demand"
require_relative "keyed_message"
require_relative "context"
require_relative "batch_metadata"
Penstock.load_constant :Message

module Penstock
  # The records handed to one call of `consume`: a slice of a batch, in offset order.
  #
  # Enumerable. {#each} moves a cursor, so that an error raised from the block is blamed on the record it was working on. Only
  # the worker that runs the unit iterates it; other threads may read views.
  class Messages
    include Enumerable
    extend Compat::Karafka::Constants::Hints

    # Karafka's names; metadata and message are one object.
    Message = Metadata = Penstock::Message
    const_set(:Messages, self)

    # @return [Object] the batch the slice belongs to
    # @api private
    attr_reader :batch

    # @return [Integer] index of the slice's first record in its batch
    # @api private
    attr_reader :first_index

    # @return [Integer, nil] index of the current record, nil before the first
    # @api private
    attr_accessor :cursor

    # @return [#call, nil] called around each message's block of {#each}, `call(message) { }`; it yields once
    # @api private
    attr_accessor :around

    # @return [Integer] number of records
    attr_reader :size

    alias_method :length, :size

    # @param batch [Object] native or in-memory batch
    # @param first_index [Integer]
    # @param size [Integer]
    # @param scheduled_ms [Integer, nil] when the slice was cut, ms since the epoch
    def initialize(batch, first_index = 0, size = batch.size, scheduled_ms: nil)
      @batch = batch
      @first_index = first_index
      @size = size
      @cursor = nil
      @iterating = false
      @failure = @blamed = nil
      @scheduled_ms = scheduled_ms
      @processed_ms = nil
      @views = nil
      @metadata = nil
    end

    # @yieldparam message [Message]
    # @param clean [Boolean] forget each message's payload after its block call: constant memory with large payloads
    # @return [self, Enumerator]
    def each(clean: false, &block)
      return enum_for(:each, clean: clean) { size } unless block_given? # `block` itself would allocate a Proc
      return each_cleaned(&block) if clean
      return nested(&block) if @iterating

      begin
        @iterating = true
        @around ? walk_around(&block) : walk(&block)
      rescue Exception => error # rubocop:disable Lint/RescueException -- it is only remembered: {#blame}
        @failure = error
        raise
      ensure
        @iterating = false
      end
    end

    # These pass several records to their blocks, so an error of a block isn't blamed on the one that was read last.
    %i[each_slice each_cons].each do |name|
      define_method(name) do |count, &block|
        result = views.public_send(name, count, &block)
        block ? self : result
      end
    end
    %i[chunk chunk_while slice_when slice_before slice_after].each do |name|
      define_method(name) { |*arguments, &block| views.public_send(name, *arguments, &block) }
    end

    # @yieldparam payload [String, nil] bytes only: the cheapest way to iterate a batch
    # @return [self]
    def each_raw(&)
      @batch.each_raw(@first_index, @size, &)
      self
    end

    # @return [Array<Object>] deserialized payloads
    def payloads = @around ? [].tap { |list| nested { |message| list << message.payload } } : map(&:payload)

    # @return [Array<String, nil>] payloads' bytes, without creating a view per record
    def raw_payloads = @batch.raw_payloads(@first_index, @size)

    # Deserializes every payload now.
    # @return [self]
    def deserialize!
      views.each(&:payload)
      self
    end

    # @param index [Integer]
    # @return [Message, nil]
    def [](index) = views[index]

    # @return [Message, nil, Array<Message>]
    def first(*count) = views.first(*count)

    # @return [Message, nil, Array<Message>]
    def last(*count) = views.last(*count)

    # @return [Array<Message>] a copy: changing it changes nothing else
    def to_a = views.dup

    # @return [Boolean]
    def empty? = @size == 0

    # @return [Integer]
    def count(*args, &block)
      (args.empty? && !block) ? @size : super
    end

    # @return [Integer] -1001 when empty
    def first_offset = (@size == 0) ? NO_OFFSET : @batch.offset(@first_index)

    # @return [Integer] -1001 when empty
    def last_offset = (@size == 0) ? NO_OFFSET : @batch.offset(@first_index + @size - 1)

    # @return [BatchMetadata]
    def metadata = @metadata ||= build_metadata.freeze

    # Offset of the record to blame an error on: the one at the cursor, else the last.
    # @return [Integer, nil] nil when empty
    # @api private
    def blamed_offset
      return nil if empty?
      @cursor ? @batch.offset(@cursor) : last_offset
    end

    # The call has failed. If the error, or its cause, has left an iteration, it belongs to the record at the cursor; otherwise it
    # isn't known which record has failed: an iteration that has ended before doesn't show it. Called again with the same error,
    # it restores what was blamed first: code around the call may have iterated since.
    # @param error [Exception]
    # @return [void]
    # @api private
    def blame(error)
      return @cursor = @blamed_cursor if error.equal?(@blamed)
      @cursor = nil unless @failure && from_iteration?(error)
      @blamed, @blamed_cursor = error, @cursor
    end

    # Whether the cursor is at the last record or iteration was never used.
    # @api private
    def finished? = @cursor.nil? || @cursor == @first_index + @size - 1

    # Whether the last record was directly followed by the end of the partition.
    # @api private
    def at_end? = !empty? && !@batch.eof.nil? && @first_index + @size == @batch.size

    # @!group Positions, for code that decides about records before user code sees them
    # @api private

    # Creates no views of the other records.
    # @return [Message]
    def message_at(index) = @views ? @views[index] : Message.new(@batch, @first_index + index)

    # @return [Integer]
    def offset_at(index) = @batch.offset(@first_index + index)

    # @return [Integer] ms since the epoch, -1 when unknown
    def timestamp_at(index) = @batch.timestamp(@first_index + index)

    # @return [Integer]
    def bytesize_at(index) = @batch.bytesize(@first_index + index)

    # @return [String, nil]
    def key_at(index) = @batch.key(@first_index + index)

    # @return [Array<Integer>]
    def offsets = Array.new(@size) { |index| offset_at(index) }

    # @return [Hash, nil] headers as Kafka stores them
    def headers_at(index) = @batch.headers(@first_index + index)

    # @return [KeyedMessage]
    def keyed(index) = KeyedMessage.new(@batch, @first_index + index)

    # @param positions [Array<Integer>] ascending
    # @return [Messages] only those records
    def pick(positions)
      return self if positions.size == @size
      Listed.new(positions.map { |index| Message.new(@batch, @first_index + index) }, @batch, scheduled_ms: @scheduled_ms)
    end

    # @return [Array<Message>] not to be changed
    def records = views

    # @!endgroup

    # Called by the worker when it starts on the unit.
    # @api private
    # @param now_ms [Integer] ms since the epoch
    def processing!(now_ms)
      @processed_ms = now_ms
      @cursor = @failure = nil
      @iterating = false
      @metadata = nil
      @around = nil if @around
      self
    end

    # Records that run again get new views: changes that user code made to the previous ones (cleared, changed, frozen) aren't
    # seen.
    # @return [Messages]
    # @api private
    def afresh = slice(0, @size)

    # Same as {#afresh}, as messages that are marked in another cell than those that user code had before.
    # @param cell [Consumer::Marks]
    # @return [Messages]
    # @api private
    def again(cell)
      list = Array.new(@size) { |index| keyed(index).tap { |message| message.join(cell) } }
      Listed.new(list, @batch, scheduled_ms: @scheduled_ms)
    end

    # @param cell [Consumer::Marks]
    # @return [Boolean] whether all of them are marked in that cell
    # @api private
    def marked_in?(cell) = empty? || cell.equal?(@batch.context&.marks)

    # @return [Messages] the records whose offset is at least +offset+
    # @api private
    def from_offset(offset)
      skip = (0...@size).bsearch { |index| @batch.offset(@first_index + index) >= offset } || @size
      slice(skip, @size - skip)
    end

    # @return [Messages]
    # @api private
    def slice(start, count)
      piece = Messages.new(@batch, @first_index + start, count)
      piece.scheduled_ms = @scheduled_ms # as a keyword argument it would cost a Hash, and every unit is a slice
      piece
    end

    # @return [String]
    def inspect = "#<Penstock::Messages #{@batch.topic}/#{@batch.partition} #{first_offset}..#{last_offset}>"

    NO_OFFSET = -1001
    # Most causes of an error that are compared.
    CAUSES = 8
    private_constant :NO_OFFSET, :CAUSES

    protected

    attr_writer :scheduled_ms

    private

    # Views created for random access are kept: their payloads are deserialized once, however often they are read.
    def views
      @views ||= Array.new(@size) { |index| Message.new(@batch, @first_index + index) }
    end

    def walk(&)
      return each_known(&) if @views

      @batch.each_view(Message, self, @first_index, @size, &)
      self
    end

    def walk_around
      around = @around
      walk { |message| around.call(message) { yield message } }
    end

    # An iteration inside another one: afterwards the outer one's record is the current one again.
    def nested(&)
      outer = @cursor
      walk(&)
    rescue Exception => error # rubocop:disable Lint/RescueException -- the error is blamed on the record that caused it
      outer = @cursor
      @failure = error
      raise
    ensure
      @cursor = outer
    end

    def each_known
      index = @first_index - 1
      views.each do |view|
        @cursor = (index += 1)
        yield view
      end
      self
    end

    def from_iteration?(error)
      CAUSES.times { error = error.cause unless error.nil? || error.equal?(@failure) }
      error.equal?(@failure)
    rescue # user code's: its error class has a `cause` of its own
      false
    end

    def each_cleaned
      each do |message|
        yield message
        message.clean!
      end
    end

    def build_metadata
      now = time(@processed_ms) || Time.now
      BatchMetadata.new(
        size: @size, first_offset: first_offset, last_offset: last_offset,
        topic: @batch.topic, partition: @batch.partition, deserializers: @batch.context&.deserializers,
        created_at: created_at(now), scheduled_at: time(@scheduled_ms) || now, processed_at: time(@processed_ms)
      )
    end

    def time(millis) = millis && Time.at(0, millis, :millisecond)

    def created_at(now)
      return now if empty?
      stamp = newest_timestamp
      stamp.negative? ? now : [Time.at(0, stamp, :millisecond), now].min
    end

    def newest_timestamp = @batch.timestamp(@first_index + @size - 1)
  end
end

require_relative "listed"
