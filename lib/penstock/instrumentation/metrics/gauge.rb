# frozen_string_literal: true

require_relative "label_values"

module Penstock
  module Instrumentation
    module Metrics
      # The series of one gauge. Each belongs to an owner, such as a connection, that replaces all of its own at once: what it
      # doesn't have any more disappears. Series with the same labels are added up. Any thread.
      class Gauge
        # One value of a gauge.
        Value = Struct.new(:gauge, :labels) do
          # @param value [Numeric]
          # @return [void]
          def record(value) = gauge.update(labels, value)
        end
        private_constant :Value

        # @return [Metric]
        attr_reader :metric

        # @param metric [Metric]
        def initialize(metric)
          @metric = metric
          reset
        end

        # Forgets all series. Called in the child of a fork, where another thread may have had the lock.
        def reset
          @lock = Mutex.new
          @owners = {}
        end

        # Sets one value, which is its own owner.
        # @param labels [Array<String>] the values of the labels, in the order of {Metric#labels}
        # @param value [Numeric]
        # @return [void]
        def update(labels, value) = replace(labels, {labels => value})

        # @param labels [Array<String>]
        # @return [#record] sets the value of these labels, as a {Series} adds one
        def series(labels) = Value.new(self, labels)

        # @param owner [Object] usable as the key of a Hash
        # @param values [Hash{Array<String> => Numeric}] by labels
        # @return [void]
        def replace(owner, values)
          @lock.synchronize { values.empty? ? @owners.delete(owner) : @owners[owner] = values }
        end

        # Removes series of an owner.
        # @param owner [Object]
        # @yieldparam labels [Array<String>]
        # @yieldreturn [Boolean] whether to remove it
        # @return [void]
        def remove(owner)
          @lock.synchronize do
            values = @owners[owner]
            @owners[owner] = values.reject { |labels, _value| yield labels } if values
          end
        end

        # @return [Array<Array(Array<String>, Array<Numeric>)>] labels and number of each series, as they are now
        def rows
          limits = LabelValues.new(@metric.labels)
          found = Hash.new { |hash, labels| hash[labels] = [0] }
          @lock.synchronize { @owners.values }.each do |values|
            values.each { |labels, value| found[limits.limited(labels)][0] += value }
          end
          found.to_a
        end
      end
    end
  end
end
