# frozen_string_literal: true

require_relative "../printable"

module Penstock
  module Instrumentation
    # Shows a process's state where `ps` shows its name: `penstock server shop (running)`. `penstock server` and `penstock swarm`
    # subscribe one; in your own program:
    #
    #     monitor.subscribe(Penstock::Instrumentation::ProctitleListener.new { "penstock shop" })
    #
    # Runs on the thread that publishes.
    class ProctitleListener
      STATES = %w[supervising running quieting quiet stopping stopped terminated].freeze
      NAME_BYTES = 200
      private_constant :NAME_BYTES

      class << self
        # Answers the name where none is given. Who knows an application sets it.
        # @return [#call, nil]
        # @api private
        attr_accessor :default
      end

      # @yieldreturn [String] what stands before the state; asked each time, for a node learns its number behind the fork. Without
      #   a block it is the application's name
      def initialize(&name)
        @name = name || -> { ["penstock", ProctitleListener.default&.call].compact.join(" ") }
      end

      STATES.each do |state|
        # @param _event [Event]
        define_method(:"on_app_#{state}") { |_event| show(state) }
      end

      private

      # The system refuses a NUL, and a terminal that runs `ps` obeys what else would be in it.
      def show(state) = ::Process.setproctitle("#{Printable.line(@name.call, NAME_BYTES)} (#{state})")
    end
  end
end
