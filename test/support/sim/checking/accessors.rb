# frozen_string_literal: true

require "penstock/serialization/deserializers"

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Checks records as users read them, in every place: in `consume`, in hooks and filters, in a partitioner, in a
        # dead letter's hook, in events. I2: key, headers, payload and everything else equal what was written. Part of
        # {Checker}.
        module Accessors
          # The deserializer of a payload reads a header too, for example a schema's number.
          DESERIALIZERS = {
            payload: ->(message) { [message.raw_payload, message.headers["trace"]] },
            key: ->(message) { message.raw_key && "key #{message.raw_key}" },
            headers: ->(message) { {**message.raw_headers, "at" => message.offset.to_s} }
          }.freeze
          ORDERS = %i[key headers payload].permutation.to_a.freeze
          private_constant :ORDERS

          # @param message [Message]
          # @param where [String] where it is read
          # @return [Truth] its record
          def read_as_written(message, where)
            truth = truth_of(message)
            written = truth.written ||= written(truth)
            # In another order each time: a value may have been read before the record was copied.
            ORDERS[(truth.uid + truth.tries) % ORDERS.size].each do |name|
              differs(message, name, where, written[name]) unless written[name] == message.public_send(name)
            end
            place = [message.topic, message.partition, message.offset, message.timestamp_ms]
            fail("I2", "#{where}: #{message.uid} is #{place}, but #{written[:place]} was written") unless place == written[:place]
            truth
          end

          private

          def differs(message, name, where, written)
            fail("I2", "#{where}: #{name} of #{message.uid} is #{message.public_send(name)}, but #{written} was written")
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
