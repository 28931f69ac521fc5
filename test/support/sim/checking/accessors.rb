# frozen_string_literal: true

require "penstock/serialization/deserializers"

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Records as users read them, wherever they are given one: in `consume`, in hooks and filters, in a partitioner, in a dead
        # letter's hook, in events. I2: key, headers, payload and everything else is what was written. Part of {Checker}.
        module Accessors
          # A payload is read with its headers' help, as with a schema's number there.
          DESERIALIZERS = {
            payload: ->(message) { [message.raw_payload, message.headers["trace"]] },
            key: ->(message) { message.raw_key && "key #{message.raw_key}" },
            headers: ->(message) { {**message.raw_headers, "at" => message.offset.to_s} }
          }.freeze
          ORDERS = %i[key headers payload].permutation.to_a.freeze
          private_constant :ORDERS

          # @param message [Message]
          # @param where [String] who was given it
          # @return [Truth] its record
          def read_as_written(message, where)
            truth = truth_of(message)
            written = truth.written ||= written(truth)
            # In another order each time: what was read first may have been read before the record was copied.
            ORDERS[(truth.uid + truth.tries) % ORDERS.size].each do |name|
              differs(message, name, where, written[name]) unless written[name] == message.public_send(name)
            end
            place = [message.topic, message.partition, message.offset, message.timestamp_ms]
            fail("I2", "#{where}: #{message.uid} is #{place}, written was #{written[:place]}") unless place == written[:place]
            truth
          end

          private

          def differs(message, name, where, written)
            fail("I2", "#{where}: #{name} of #{message.uid} is #{message.public_send(name)}, written was #{written}")
          end

          def written(truth)
            record = truth.record
            {key: record.key && "key #{record.key}", headers: {**record.headers.to_h, "at" => record.offset.to_s},
             payload: [record.payload, record.headers.to_h["trace"]], place: [*truth.place, record.offset, record.timestamp]}
          end
        end
      end
    end
  end
end
