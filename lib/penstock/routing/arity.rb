# frozen_string_literal: true

module Penstock
  module Routing
    # Checks at boot that a callable of a route can be called with what it will get: otherwise each record would fail.
    # Stateless.
    module Arity
      class << self
        # @param label [String] where the callable stands: "parallel by:"
        # @param callable [#call, nil]
        # @param arguments [Array<String>] names of what it is called with
        # @param other [String, nil] end of the hint: what the user may have meant
        # @return [Array<(String, String)>] messages and hints
        def complaints(label, callable, arguments, other = nil)
          return [] if callable.nil? || !callable.respond_to?(:call)

          parameters = parameters(callable)
          return [] if fits?(parameters, arguments.size)

          [["#{label} is called with #{list(arguments)}, but #{expectation(parameters)}",
            "Write ->(#{arguments.join(", ")}) { … }, or an object with call(#{arguments.join(", ")})#{other}"]]
        end

        # @param method [Method, UnboundMethod]
        # @return [String, nil] what it takes, unless it can be called without arguments
        def surplus(method) = fits?(method.parameters, 0) ? nil : expectation(method.parameters)

        private

        # Blocks and procs take any number of arguments; a keyword that they require is missing all the same.
        # @return [Array<Array>]
        def parameters(callable)
          return callable.method(:call).parameters unless callable.is_a?(Proc)

          callable.lambda? ? callable.parameters : [[:rest], *callable.parameters.select { |one| one.first == :keyreq }]
        end

        def fits?(parameters, count)
          kinds = parameters.map(&:first)
          required = kinds.count(:req)
          return false if kinds.include?(:keyreq) || required > count

          kinds.include?(:rest) || count <= required + kinds.count(:opt)
        end

        def expectation(parameters)
          kinds = parameters.map(&:first)
          keywords = parameters.filter_map { |kind, name| "#{name}:" if kind == :keyreq }
          return "requires the keyword #{keywords.join(", ")}" unless keywords.empty?

          least = "at least " if kinds.include?(:rest) || kinds.include?(:opt)
          "takes #{least}#{arguments(kinds.count(:req))}"
        end

        def arguments(count)
          return "one argument" if count == 1

          "#{count.zero? ? "no" : count} arguments"
        end

        def list(arguments) = arguments.map { |name| "the #{name}" }.join(" and ")
      end
    end
  end
end
