# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../on_demand"
Penstock.load_constant :Messages

module Penstock
  module Testing
    class Kit
      # Makes of a produced message what a consumer reads. Stateless.
      module IncomingMessage
        class << self
          # @param produced [ProducedMessage]
          # @param deserializers [Serialization::Deserializers]
          # @param offset [Integer]
          # @param marks [Consumer::Marks, nil] where it is marked
          # @return [Message]
          def of(produced, deserializers, offset: produced.offset, marks: nil)
            now_ms = Clock::SYSTEM.wall_ms
            row = Messages::MemoryBatch::Row.new(offset: offset, payload: bytes(produced.payload), key: bytes(produced.key),
              headers: headers(produced.headers), timestamp: produced.timestamp || now_ms, leader_epoch: 0)
            batch = Messages::MemoryBatch.new(produced.topic, produced.partition, [row])
            batch.context = Messages::Context.new(deserializers, now_ms, marks)
            Message.new(batch, 0)
          end

          private

          # As they come from a broker.
          def bytes(text) = text&.b&.freeze

          def headers(given)
            given.to_h { |name, value| [name.to_s.dup.freeze, header(value)] }.freeze
          end

          def header(value) = value.is_a?(Array) ? value.map { |one| bytes(one) }.freeze : bytes(value)
        end
      end
    end
  end
end
