# frozen_string_literal: true

module Penstock
  module Instrumentation
    # Listeners that few programs need, loaded when they are named; and names of the incumbent's, told with what takes their
    # place.
    LISTENERS = {
      LoggerListener: "penstock/instrumentation/logger_listener", ProctitleListener: "penstock/instrumentation/proctitle_listener"
    }.freeze
    FORMER = {
      AssignmentsTracker: "PenstockApp.assignments and PenstockApp.generations tell it",
      Notifications: "Penstock::Instrumentation::Monitor is the bus, register_event adds events to it",
      Vendors: "Penstock::Monitors::DatadogProducer (require \"penstock/monitors/datadog_producer\") has a producer's metrics; " \
        "config.health.port is what Kubernetes asks. Others are a listener of a few lines"
    }.freeze
    private_constant :LISTENERS, :FORMER

    # @api private
    def self.const_missing(name)
      if LISTENERS.key?(name)
        require LISTENERS.fetch(name)
        return const_get(name, false)
      end
      way_out = FORMER[name] or return super
      error = NameError.new("there is no Penstock::Instrumentation::#{name}: #{way_out}", name, receiver: self)
      error.set_backtrace(caller)
      raise error
    end
  end
end
