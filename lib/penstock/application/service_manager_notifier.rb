# frozen_string_literal: true

module Penstock
  class Application
    # Notifies the service manager that started the process of its state (systemd's `Type=notify`). Only for a process that is
    # the application's own: inside another server, that server notifies. Stateless.
    module ServiceManagerNotifier
      # @param vitals [#call] returns the state of the process
      # @param log [#warn]
      # @param threads [#start] starts threads
      # @param monitor [Instrumentation::Monitor]
      # @return [Server::ServiceManager, nil] started, to be closed by the caller; nil if the environment specifies no service
      #   manager
      def self.start(vitals:, log:, threads:, monitor:)
        return if ENV["NOTIFY_SOCKET"].to_s.empty?
        require_relative "../server/service_manager"
        Server::ServiceManager.from(ENV, vitals: vitals, warn: ->(text) { log.warn(text) }).start(threads, monitor)
      end
    end
  end
end
