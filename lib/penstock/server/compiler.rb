# frozen_string_literal: true

module Penstock
  module Server
    # Ruby's compiler, YJIT. What a record costs beside the user's code is Ruby for the most part, and that takes about half as
    # long when it is compiled. Ruby 3.3 and newer can switch it on while they run; older ones have to be told at their start
    # (`RUBYOPT=--yjit`).
    module Compiler
      # @param yjit [Module, nil] what Ruby has
      # @return [Symbol] :on, :off or :missing (this Ruby was built without)
      def self.state(yjit = available)
        return :missing if yjit.nil?
        yjit.enabled? ? :on : :off
      end

      # Only in a process that is ours: a host decides for itself.
      # @param yjit [Module, nil]
      # @return [Symbol] its state then
      def self.switch_on(yjit = available)
        yjit.enable if state(yjit) == :off && yjit.respond_to?(:enable)
        state(yjit)
      end

      # @return [Module, nil]
      def self.available = (RubyVM::YJIT if defined?(RubyVM::YJIT))
      private_class_method :available
    end
  end
end
