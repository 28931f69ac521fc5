# frozen_string_literal: true

module Penstock; module Lint; end; end # its parts open it, too: see ON_DEMAND
require_relative "errors"
require_relative "lint/deserializer"
require_relative "lint/executor"
require_relative "lint/filter"
require_relative "lint/listener"
require_relative "lint/partitioner"
require_relative "lint/strategy"

module Penstock
  # Checks the contracts of objects that applications provide: wrappers that behave like the wrapped object and raise
  # {Violation} when it breaks its contract. For an application's tests, or for a topic that behaves strangely:
  #
  #     filter Penstock::Lint::FilterFactory.new(->(topic, partition) { OfficeHours.new })
  #     parallel by: Penstock::Lint::Partitioner.new(->(message) { message.headers["tenant"] })
  #     monitor.subscribe(Penstock::Lint::Listener.new(Metrics.new))
  module Lint
  end
end
