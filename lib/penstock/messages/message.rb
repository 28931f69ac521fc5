# frozen_string_literal: true

require_relative "../errors"

module Penstock
  # One Kafka record as user code sees it: a thin view onto a batch whose bytes live in native memory.
  #
  # A view has three instance variables and nothing else, so that a million of them cost a million small slots; whatever is
  # looked at less often (key, headers) is deserialized on first touch and remembered beside the batch. Views may be read from
  # any thread and stay valid as long as they are referenced, also after the lane, the consumer or the connection is gone.
  class Message
    # @param batch [#payload, #offset, #context] native or in-memory batch
    # @param index [Integer] position of the record in the batch
    # @api private
    def initialize(batch, index)
      @batch = batch
      @index = index
      @memo = nil
    end

    # @return [Object] the deserialized payload, computed once on first touch
    # @raise [DeserializationError] when the payload can't be decoded; the error isn't remembered, the next call tries again
    def payload
      memo = @memo
      return remembered(memo) unless memo.nil?

      value = @batch.context.payload.call(self)
      @memo = value.nil? ? NIL_PAYLOAD : value
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

    # The payload's bytes as a parser wants them: flagged as UTF-8, whether they are or not.
    # @return [String, nil]
    # @api private
    def raw_text
      raise_cleared if CLEARED.equal?(@memo)
      @batch.text(@index)
    end

    # @return [Object, nil] the deserialized key, computed once
    def key = @batch.context.key_of(self, @index)

    # @return [String, nil] the key's bytes, frozen, binary
    def raw_key = @batch.key(@index)

    # @return [Hash{String => String, Array<String, nil>, nil}] headers as the deserializer gives them, computed once
    def headers = @batch.context.headers_of(self, @index)

    # @return [Hash{String => String, Array<String, nil>, nil}] headers as Kafka carries them, frozen; a name that
    #   occurs more than once has an Array (KIP-82). A record without headers has an empty Hash
    def raw_headers = @batch.headers(@index) || NO_HEADERS

    # @return [Integer] the record's offset in its partition
    def offset = @batch.offset(@index)

    # @return [Integer]
    def partition = @batch.partition

    # @return [String]
    def topic = @batch.topic

    # @return [Time] create or append time of the record, by what the topic is configured for
    def timestamp = Time.at(0, @batch.timestamp(@index), :millisecond)

    # @return [Integer] milliseconds since the epoch, -1 when the record carries none
    def timestamp_ms = @batch.timestamp(@index)

    # @return [Time] when the batch was taken from the connection
    def received_at = @batch.context.received_at

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

    # @return [Deserializers] what turns the bytes of this record into objects
    def deserializers = @batch.context.deserializers

    # Forgets the deserialized payload and refuses further access, so that large objects can go before the batch does.
    #
    # @param metadata [Boolean] forget key and headers too
    # @return [nil]
    def clean!(metadata: true)
      @memo = CLEARED
      @batch.context.forget(@index) if metadata
      nil
    end

    # @return [Boolean]
    def cleaned? = CLEARED.equal?(@memo)

    # Where a mark of this record is written.
    # @return [Consumer::Marks, nil] nil for a record that came by another way than a partition we own
    # @api private
    def mark_cell = @batch.context&.marks

    # @return [KeyedMessage] the same record, for a unit of one key
    # @api private
    def keyed = KeyedMessage.new(@batch, @index)

    # @return [Message] the same record, as if user code had never had it: neither cleared, changed nor frozen
    # @api private
    def afresh = Message.new(@batch, @index)

    # Whether the end of the partition came right behind it.
    # @api private
    def at_end? = !@batch.eof.nil? && @index + 1 == @batch.size

    # @return [String] coordinates only, never the payload
    def inspect = "#<Penstock::Message #{uid}>"

    # What `@memo` holds for a payload that deserialized to nil, and for a cleaned message.
    NIL_PAYLOAD = Object.new.freeze
    CLEARED = Object.new.freeze
    NO_HEADERS = {}.freeze
    private_constant :NIL_PAYLOAD, :CLEARED, :NO_HEADERS

    private

    def remembered(memo)
      raise_cleared if memo.equal?(CLEARED)
      memo.equal?(NIL_PAYLOAD) ? nil : memo
    end

    def raise_cleared
      raise MessageClearedError, "payload of #{uid} was cleared by clean!; read it before, or don't clean this message"
    end
  end
end
