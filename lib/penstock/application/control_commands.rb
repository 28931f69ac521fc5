# frozen_string_literal: true

require_relative "../server/place"

module Penstock
  class Application
    # The commands that the command line sends over the control socket, for the application of this process. Runs on the
    # socket's thread.
    class ControlCommands
      # @param application [Application]
      # @param stop [#call] stops it, also if it is stopping already
      def initialize(application, stop:)
        @application = application
        @stop = stop
        @place = Server::Place.of # now: the application may change its folder later
      end

      # @return [Hash{String => #call}] by name; what one returns is the answer
      def to_h
        common = {"status" => method(:status), "quiet" => -> { @application.quiet! && nil }, "stop" => -> { @stop.call && nil },
                  "dump" => -> { @application.dump! && nil }, "breaker close" => @application.method(:close_breakers!)}
        supervisor? ? {**common, "restart" => method(:restart)} : common
      end

      private

      # The nodes of a swarm that is quiet or stops aren't replaced any more.
      def restart
        if @application.done?
          require_relative "../server/control"
          raise Server::Control::Refused, "it replaces no nodes any more: the swarm is #{@application.lifecycle.state}"
        end
        @application.restart! && nil
      end

      def status
        {pid: ::Process.pid, kind: supervisor? ? "swarm" : "server", client_id: @application.config.client_id,
         **@place.to_h, **@application.vitals}
      end

      def supervisor? = @application.execution_mode.supervisor?
    end
  end
end
