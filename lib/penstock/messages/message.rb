# frozen_string_literal: true

require_relative "../errors"

module Penstock
  # One Kafka record as user code sees it: a thin view onto a batch whose bytes live in native memory.
  #
  # A view has three instance variables, so that a million of them cost a million small slots; two more are added when the
  # deserialized key or headers are read. A view never shares what it has deserialized: another view, also one of the same
  # record (a copy, a retry), never sees it, so no view can return a value of another record. Views may be read from any thread
  # and stay valid as long as they are referenced, also after the lane, the consumer or the connection is gone.
  class Message
    # @param batch [#payload, #offset, #context] native or in-memory batch
    # @param index [Integer] position of the record in the batch
    # @api private
    def initialize(batch, index)
      @batch = batch
      @index = index
      @memo = nil
    end

    # @return [Object] the deserialized payload, computed once on first access
    # @raise [DeserializationError] when the payload can't be decoded; the error isn't remembered, the next call tries again
    def payload
      memo = @memo
      return remembered(memo) unless memo.nil?

      context = @batch.context
      parser = context.text_parser
      value = parser ? parser.parse(@batch.text(@index), self) : context.payload.call(self)
      begin
        @memo = value.nil? ? NIL_VALUE : value
      rescue FrozenError # user code froze it: deserialized each time. Unlike `frozen?`, a rescue costs nothing without an error
      end
      value
    end

    # @return [Boolean] true once the payload has been deserialized
    def deserialized? = !@memo.nil?

    # @return [String, nil] the payload's bytes, frozen, binary; nil for a tombstone
    # @raise [MessageClearedError] after {#clean!}
    def raw_payload
      raise_cleared if CLEARED.equal?(@memo)
      @batch.payload(@index)
    end

    # The payload's bytes as a parser wants them: flagged as UTF-8, whether valid or not.
    # @return [String, nil]
    # @api private
    def raw_text
      raise_cleared if CLEARED.equal?(@memo)
      @batch.text(@index)
    end

    # @return [Object, nil] the deserialized key, computed once on first access
    def key
      known = @key
      return NIL_VALUE.equal?(known) ? nil : known unless known.nil?

      value = deserializers.key.call(self)
      @key = value.nil? ? NIL_VALUE : value unless frozen?
      value
    end

    # @return [String, nil] the key's bytes, frozen, binary
    def raw_key = @batch.key(@index)

    # @return [Hash{String => String, Array<String, nil>, nil}] deserialized headers, computed once on first access
    def headers
      known = @headers
      return NIL_VALUE.equal?(known) ? nil : known unless known.nil?

      value = deserializers.headers.call(self)
      @headers = value.nil? ? NIL_VALUE : value unless frozen?
      value
    end

    # @return [Hash{String => String, Array<String, nil>, nil}] headers as Kafka stores them, frozen; a name that occurs more
    #   than once has an Array (KIP-82). A record without headers has an empty Hash
    def raw_headers = @batch.headers(@index) || NO_HEADERS

    # @return [Integer] the record's offset in its partition
    def offset = @batch.offset(@index)

    # @return [Integer]
    def partition = @batch.partition

    # @return [String]
    def topic = @batch.topic

    # @return [Time] create or append time of the record, depending on the topic's configuration
    def timestamp = Time.at(0, @batch.timestamp(@index), :millisecond)

    # @return [Integer] milliseconds since the epoch, -1 when the record has none
    def timestamp_ms = @batch.timestamp(@index)

    # @return [Time] when the batch was taken from the connection
    def received_at = Time.at(0, received_ms, :millisecond)

    # @return [Integer] the same, in milliseconds since the epoch
    # @api private
    def received_ms = @batch.received_ms(@index)

    # @return [Integer] leader epoch of the record, -1 when unknown
    def leader_epoch = @batch.leader_epoch(@index)

    # @return [Integer] bytes of payload, key and headers
    def bytesize = @batch.bytesize(@index)

    # @return [Boolean] true for a record with a key and without a payload: a deletion in a compacted topic
    def tombstone? = raw_payload.nil? && !raw_key.nil?

    # @return [String] `topic/partition/offset`: unique in a cluster, for idempotent side effects
    def uid = "#{topic}/#{partition}/#{offset}"

    # @return [Message] itself: metadata and message are one object here
    def metadata = self

    # @return [Message]
    def message = self

    # @return [Deserializers] convert the bytes of this record into objects
    def deserializers = @batch.context.deserializers

    # Forgets the deserialized payload and refuses further access, so that large objects can be freed before the batch.
    #
    # @param metadata [Boolean] forget key and headers too
    # @return [nil]
    def clean!(metadata: true)
      @memo = CLEARED
      forget_metadata if metadata
      nil
    end

    # @return [Boolean]
    def cleaned? = CLEARED.equal?(@memo)

    # Where a mark of this record is written.
    # @return [Consumer::Marks, nil] nil for a record that didn't come from a partition we own
    # @api private
    def mark_cell = @batch.context&.marks

    # @return [KeyedMessage] the same record, for a unit of one key
    # @api private
    def keyed = KeyedMessage.new(@batch, @index)

    # @return [Message] the same record, as if user code had never seen it: neither cleared, changed nor frozen
    # @api private
    def afresh = Message.new(@batch, @index)

    # @param cell [Consumer::Marks] where it is marked, instead of in its batch's cell
    # @return [KeyedMessage] the same record, as if user code had never seen it
    # @api private
    def again(cell) = keyed.tap { |view| view.join(cell) }

    # Whether this record was directly followed by the end of the partition.
    # @api private
    def at_end? = !@batch.eof.nil? && @index + 1 == @batch.size

    # @return [String] topic, partition and offset only, never the payload
    def inspect = "#<Penstock::Message #{uid}>"

    # Remembered for a payload, key or headers that deserialized to nil, and for the payload of a cleaned message.
    NIL_VALUE = Object.new.freeze
    CLEARED = Object.new.freeze
    NO_HEADERS = {}.freeze
    private_constant :NIL_VALUE, :CLEARED, :NO_HEADERS

    private

    # Forgets only what was read: setting a variable would add it.
    def forget_metadata
      @key = nil unless @key.nil?
      @headers = nil unless @headers.nil?
    end

    def remembered(memo)
      raise_cleared if memo.equal?(CLEARED)
      memo.equal?(NIL_VALUE) ? nil : memo
    end

    def raise_cleared
      raise MessageClearedError, "payload of #{uid} was cleared by clean!: read it before clean!, or don't clean this message"
    end
  end
end
