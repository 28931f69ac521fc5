# frozen_string_literal: true

require_relative "../printable"

module Penstock
  module Instrumentation
    # Shows a process's state in its `ps` title: `penstock server shop (running)`. `penstock server` and `penstock
    # swarm` subscribe one; in your own program:
    #
    #     monitor.subscribe(Penstock::Instrumentation::ProctitleListener.new { "penstock shop" })
    #
    # Runs on the thread that publishes.
    class ProctitleListener
      STATES = %w[supervising running quieting quiet stopping stopped terminated].freeze
      NAME_BYTES = 200
      private_constant :NAME_BYTES

      class << self
        # Returns the name for listeners that are created without a block. The code that knows the application sets it.
        # @return [#call, nil]
        # @api private
        attr_accessor :default
      end

      # @yieldreturn [String] text before the state; called each time, because a node learns its number only after the
      #   fork. Without a block it is the application's name
      def initialize(&name)
        @name = name || -> { ["penstock", ProctitleListener.default&.call].compact.join(" ") }
      end

      STATES.each do |state|
        # @param _event [Event]
        define_method(:"on_app_#{state}") { |_event| show(state) }
      end

      private

      # The system refuses a NUL, and a terminal that runs `ps` would interpret control characters.
      def show(state) = ::Process.setproctitle("#{Printable.line(@name.call, NAME_BYTES)} (#{state})")
    end
  end
end
