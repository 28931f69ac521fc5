# frozen_string_literal: true

# The classes that are loaded on first use, so that a program that needs none of them starts at once.
#
# The first use may be in several threads at once, of consumers or of a web server. Ruby then loads the file in one thread, and
# the others wait until the constant is complete; but only if all of them name the constant. If a thread requires the file by its
# path, the others get a class that has only some of its methods, or both wait for each other. So files name the constant, or load
# it with {Penstock.load_constant}, and never require its file, or one that adds to its class: `bin/check layers` verifies that.
module Penstock
  ON_DEMAND = {
    ActiveJob: "penstock/active_job", Admin: "penstock/admin", App: "penstock/app", Application: "penstock/application",
    Embedded: "penstock/embedded", Iterator: "penstock/iterator", Lint: "penstock/lint",
    BaseConsumer: "penstock/consumer/base_consumer", Filter: "penstock/processing/filters/base",
    Message: "penstock/messages/message", Messages: "penstock/messages/messages",
    Outbox: "penstock/outbox/api", Process: "penstock/process",
    Producer: "penstock/producer", ProducerPool: "penstock/producer/pool",
    InvalidRequestError: "penstock/admin/errors",
    ExpiredError: "penstock/execution/errors", RemoteError: "penstock/execution/errors", WorkerDied: "penstock/execution/errors",
    AssignmentLostError: "penstock/consumer/errors", NonTransactionalMarkingAttemptError: "penstock/consumer/errors",
    TransactionAlreadyInitializedError: "penstock/consumer/errors", TransactionDeferredError: "penstock/consumer/errors"
  }.freeze
  private_constant :ON_DEMAND

  # By their absolute path: the same file as for `require_relative`.
  ON_DEMAND.each { |name, path| autoload(name, File.expand_path("../#{path}.rb", __dir__)) }

  # A namespace that many files open, so only its classes can be loaded on demand.
  module Instrumentation
    ON_DEMAND = {
      LoggerListener: "penstock/instrumentation/logger_listener", Monitor: "penstock/instrumentation/monitor",
      ProctitleListener: "penstock/instrumentation/proctitle_listener"
    }.freeze
    private_constant :ON_DEMAND

    ON_DEMAND.each { |name, path| autoload(name, File.expand_path("../#{path}.rb", __dir__)) }
  end

  # For a file that needs a class from its first line on, or that doesn't name it.
  #
  # @param names [Array<Symbol, String>] constants of this file's list, or `"Instrumentation::Monitor"` and the like
  # @return [void]
  # @api private
  def self.load_constant(*names)
    names.each do |name|
      const_get(name)
      # If a file that adds to the class was loaded before this one, its constant is defined already, and stands for a part.
      require File.expand_path("../#{ON_DEMAND.fetch(name)}.rb", __dir__) if ON_DEMAND.key?(name)
    end
  end
end
