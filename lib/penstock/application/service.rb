# frozen_string_literal: true

module Penstock
  class Application
    # The application as a service of somebody who wants to know how it does (systemd's `Type=notify`). Only where the process is
    # the application's own: inside another server that one tells.
    module Service
      private

      # Behind the other doors, and closed with them.
      def tell_service_manager
        return if ENV["NOTIFY_SOCKET"].to_s.empty?
        require_relative "../process/service_manager"
        manager = ServerProcess::ServiceManager.from(ENV, vitals: method(:vitals), warn: ->(text) { logger.warn(text) })
        @doors << manager.start(door_threads, monitor)
      end
    end
  end
end
