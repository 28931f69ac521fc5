# frozen_string_literal: true

require_relative "../../on_demand"
Penstock.load_constant :Messages

module Penstock
  module Execution
    module Processes
      # The messages of a unit inside a child: each step of an iteration is written to the {SharedStatus} before user code
      # sees the record.
      class OrderMessages < Messages
        def cursor=(index)
          @cursor = index
          @batch.read(index)
        end

        private

        def each_known
          views.each_with_index do |view, index|
            self.cursor = @first_index + index
            yield view
          end
          self
        end
      end
    end
  end
end
