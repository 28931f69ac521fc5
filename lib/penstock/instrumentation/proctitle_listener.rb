# frozen_string_literal: true

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

      # @yieldreturn [String] what stands before the state; asked each time, for a node learns its number behind the fork
      def initialize(&name)
        @name = name
      end

      STATES.each do |state|
        # @param _event [Event]
        define_method(:"on_app_#{state}") { |_event| ::Process.setproctitle("#{@name.call} (#{state})") }
      end
    end
  end
end
