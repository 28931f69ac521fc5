# frozen_string_literal: true

require_relative "../server/signals"

module Penstock
  module Swarm
    # Handles a node's signals. Ctrl-C and a service manager reach every process of a group, and the supervisor passes a stop on
    # as well: so TERM counts once however often it comes; INT, QUIT and the signals that only the supervisor handles have no
    # effect here; and the supervisor sends USR1 to hurry a stop. URG, which a process without a handler ignores, makes a node
    # close its breakers.
    class NodeSignals < Server::Signals
      HURRY = "USR1"
      CLOSE_BREAKERS = "URG"
      IDLE = %w[INT QUIT HUP USR2].freeze
      NAMES = ["TERM", HURRY, "TSTP", "TTIN", CLOSE_BREAKERS, *IDLE].freeze

      # @param handler_of [#trap]
      def initialize(handler_of = ::Signal)
        super(handler_of, names: NAMES)
        @stopping = false
      end

      # Takes over the signals that came before the handlers were installed, and the traps from before the supervisor's.
      # @param signals [SupervisorSignals]
      def take_over(signals)
        @previous = signals.previous
        @traps.trap("CHLD", @previous["CHLD"] || "DEFAULT") if @previous.key?("CHLD")
        signals.early.each { |name| received(name) }
      end

      private

      def received(name)
        case name
        when "TERM" then once { super }
        when HURRY then hurry
        when CLOSE_BREAKERS then post(:close_breakers)
        when *IDLE then call_previous(name)
        else super
        end
      end

      def once
        yield unless @stopping
        @stopping = true
      end

      # A USR1 that arrives before its TERM counts as the stop.
      def hurry
        @queue << "TERM"
        @stopping = true
      end
    end
  end
end
