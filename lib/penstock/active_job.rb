# frozen_string_literal: true

require_relative "errors"
begin
  require "active_job"
rescue LoadError => error
  raise error unless error.path == "active_job"
  raise LoadError, "Penstock's adapter needs Active Job: add `gem \"activejob\"` (7.1 or later) to the Gemfile"
end
require_relative "../penstock"

module Penstock; module ActiveJob; end; end # its parts open it, too: see ON_DEMAND
require_relative "active_job/adapter"
require_relative "active_job/current_attributes"
require_relative "active_job/consumer"
require_relative "active_job/errors"
require_relative "active_job/job"
require_relative "active_job/later"
require_relative "active_job/options"

module Penstock
  # Runs jobs of Active Job on Kafka: the adapter, `active_job_topic`, the consumer. See docs/active_job.md.
  module ActiveJob
    # The oldest version of Active Job.
    OLDEST = Gem::Version.new("7.1")
    private_constant :OLDEST
    if ::ActiveJob.version < OLDEST
      raise LoadError,
        "Penstock's adapter needs Active Job 7.1 or later, this is #{::ActiveJob.version}"
    end

    class << self
      # @return [Array<String>] classes of ActiveSupport::CurrentAttributes whose values jobs are enqueued with
      def current_attributes = CurrentAttributes.names

      # @param names [Array<String>, String]
      # @raise [ConfigurationError] one isn't the name of a class
      def current_attributes=(names)
        CurrentAttributes.names = names
      end

      # @return [Boolean] whether jobs carry these values for processes that run Karafka, too
      def current_attributes_for_karafka = CurrentAttributes.for_karafka

      # @param value [Boolean]
      # @raise [ConfigurationError] it isn't true or false
      def current_attributes_for_karafka=(value)
        CurrentAttributes.for_karafka = value
      end
    end
  end
end

ActiveSupport.on_load(:active_job) { prepend Penstock::ActiveJob::Job unless include?(Penstock::ActiveJob::Job) }
ActiveJob::QueueAdapters.autoload :PenstockAdapter, File.expand_path("../active_job/queue_adapters/penstock_adapter", __dir__)
