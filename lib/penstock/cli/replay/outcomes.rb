# frozen_string_literal: true

require_relative "../../consumer/flow"
require_relative "../../processing/failure/callback_results"
require_relative "../../processing/unit"

module Penstock
  module CLI
    module Replay
      # Builds outcomes from a dump: errors have the recorded class if it is loaded, callback results are
      # without the message that would have been sent. Stateless.
      module Outcomes
        # Stands in for an error whose class isn't loaded here.
        class Unknown < StandardError
        end

        class << self
          # @param unit [Processing::Unit]
          # @param entry [Script::Entry]
          # @param wish [Array, nil] what user code requested for the partition
          # @param results [Array, nil] of callbacks, as recorded
          # @return [Processing::Outcome]
          def build(unit, entry, wish, results)
            _action, _first, error, blamed, finished, _base, time_us = entry.values
            stand(unit.messages, blamed) if finished == "cursor"
            Processing::Outcome.new(unit: unit, error: error && error(error), blamed: blamed, flow: wish && flow(wish),
              finished: finished != false, time_ms: 0, time_us: time_us,
              callback_results: results && callback_results(unit, results))
          end

          # @param wish [Array] name and values
          # @return [Consumer::Flow, Symbol]
          def flow(wish)
            name, *values = wish
            return name.to_sym unless Consumer::Flow.constants.include?(name.to_sym)
            Consumer::Flow.const_get(name).new(*values.map { |value| value.is_a?(String) ? value.to_sym : value })
          end

          private

          # The cursor's position when the error was raised.
          def stand(messages, blamed)
            messages.cursor = (0...messages.size).find { |index| messages.offset_at(index) == blamed }
          end

          def error(name)
            found = Object.const_get(name) if /\A[A-Z]\w*(::[A-Z]\w*)*\z/.match?(name) && Object.const_defined?(name)
            return Unknown.new(name) unless found.is_a?(Class) && found <= Exception
            found.allocate
          end

          def callback_results(unit, values)
            _kind, offset, answer, kind, attempt, backoff_ms, unreadable = values
            return unless values.first == "failure"
            Processing::Failure::CallbackResults.new(offset: offset, answer: answer && [answer.to_sym], backoff_ms: backoff_ms,
              unreadable: unreadable, letter: kind && letter(unit, offset, kind.to_sym, attempt))
          end

          def letter(unit, offset, kind, attempt)
            record = unit.messages.find { |message| message.offset == offset }
            Processing::Failure::Letter.new(record: record, dispatch: {}, kind: kind, attempt: attempt)
          end
        end
      end
    end
  end
end
