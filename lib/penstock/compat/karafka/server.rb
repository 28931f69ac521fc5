# frozen_string_literal: true

require_relative "constants"

module Penstock
  module Compat
    module Karafka
      # The methods of `Karafka::Server` that make sense here, and errors for its others, with what to do instead:
      # `Karafka::Server` is an object with methods, `Penstock::Server` is a namespace, which this module extends.
      module Server
        # @return [#call] returns the application of the process, or nil
        # @api private
        attr_writer :application

        # @return [Penstock::Server::Workers, nil] the workers of the application of the process; nil before it runs
        def workers = @application&.call&.workers

        # @return [Penstock::Server::ExecutionMode, nil] how the process runs its application; nil without one
        def execution_mode = @application&.call&.execution_mode

        private

        def method_missing(name, *)
          raise NoMethodError, "Penstock::Server has no #{name}: #{Constants::TOP_LEVEL.fetch(:Server)}", caller
        end

        def respond_to_missing?(name, all = false) = super
      end
    end
  end
end
