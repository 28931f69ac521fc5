# frozen_string_literal: true

require_relative "../turn"
require_relative "../workers"

module Penstock
  module Testing
    module Memory
      class Runner
        # One worker, and one more for hooks: units run one after another, on the stack of the test.
        class InlineWorkers < Workers
          private

          def place(&) = Turn.new(@instance, &)

          # Nothing happens in a process after its death.
          def run(sleeper, slot, unit)
            super.tap { raise Crashed if @instance.dead? }
          end
        end
      end
    end
  end
end
