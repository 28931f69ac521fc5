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
        define_method(:"on_app_#{state}") { |_event| ::Process.setproctitle("#{@name.call} (#{state})") }
      end
    end
  end
end
