# frozen_string_literal: true

module Penstock
  module CLI
    module Doctor
      # Result of one check. `state` is `:ok`, `:failed`, `:warning` (works, but something is lost) or `:skipped` (could
      # not be tried); `detail` describes what was found, `hint` how to fix it.
      Step = Struct.new(:name, :state, :detail, :hint) do
        class << self
          def ok(name, detail)
            new(name, :ok, detail, nil)
          end

          def failed(name, detail, hint)
            new(name, :failed, detail, hint)
          end

          def warning(name, detail, hint)
            new(name, :warning, detail, hint)
          end

          def skipped(name, detail)
            new(name, :skipped, detail, nil)
          end
        end

        # @return [Boolean]
        def failed?
          state == :failed
        end
      end
    end
  end
end
