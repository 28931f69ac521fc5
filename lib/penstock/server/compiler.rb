# frozen_string_literal: true

module Penstock
  module Server
    # Switches on Ruby's compiler, YJIT. Most of a record's cost apart from the user's code is Ruby, which takes about
    # half the time when compiled. Ruby 3.3 and newer can switch it on at run time; older versions need it at their
    # start (`RUBYOPT=--yjit`).
    module Compiler
      # @param yjit [Module, nil] Ruby's module
      # @return [Symbol] :on, :off or :missing (this Ruby was built without it)
      def self.state(yjit = available)
        return :missing if yjit.nil?
        yjit.enabled? ? :on : :off
      end

      # Only in a process of Penstock's own: a host process decides itself.
      # @param yjit [Module, nil]
      # @return [Symbol] the resulting state
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
