# frozen_string_literal: true

require_relative "current_attributes"
require_relative "options"

module Penstock
  module ActiveJob
    # Adds `penstock_options` to job classes, and current attributes to the data of jobs. Prepended to ActiveJob::Base.
    module Job
      # @api private
      def self.prepended(base)
        base.extend(ClassMethods)
        base.class_attribute :penstock_job_options, instance_accessor: false, instance_predicate: false, default: Options::DEFAULT
        Deferral.install(base)
      end

      # Methods of job classes.
      module ClassMethods
        ORDERED = "write `active_job_topic queue, order: :key` and `penstock_options partition_by: …`: jobs of a key then run " \
          "one after another"
        private_constant :ORDERED

        # Changes how jobs of this class and its subclasses are enqueued; what isn't given stays as the superclass has it.
        #
        #     class ChargeJob < ApplicationJob
        #       penstock_options partition_by: ->(job) { job.arguments.first.customer_id }, enqueue: :outbox
        #     end
        #
        # Karafka's names are accepted too: `karafka_options dispatch_method: :produce_async, partitioner: …`.
        # @param changes [Hash{Symbol => Object}]
        # @option changes [:sync, :async, :outbox] :enqueue
        # @option changes [:sync, :async, :outbox] :enqueue_many for `perform_all_later`; by default as `:enqueue`
        # @option changes [#call] :partition_by returns a job's key
        # @option changes [:key, :partition_key, :partition] :partition_key_type what that is
        # @option changes [#call] :producer returns the producer of a job
        # @return [Options]
        # @raise [ArgumentError] with everything that is wrong
        def penstock_options(**changes)
          return penstock_job_options if changes.empty?
          self.penstock_job_options = penstock_job_options.merge(name || "a job class", changes)
          Deferral.cover(self)
          penstock_job_options
        end
        alias_method :karafka_options, :penstock_options

        # Solid Queue's limit on jobs at the same time.
        # @raise [NotImplementedError] unless its gem is loaded
        def limits_concurrency(**options)
          return super if defined?(super)
          to = options.fetch(:to, 1)
          way = (to == 1) ? ORDERED : "at most #{to} at a time isn't supported: bound the queue with `workers max: #{to}`"
          raise NotImplementedError, "limits_concurrency of #{name} belongs to another adapter. With Penstock #{way}"
        end
      end

      # `enqueue: :outbox` writes the job into the transaction, so Rails must not wait for the commit: a process that dies between
      # the commit and the enqueueing would lose the job.
      #
      # Decided whenever Rails asks a class whether it waits, not when the class is defined: both the options and Rails' setting
      # may change afterwards, in any order, and a subclass that leaves the outbox waits as its superclasses have set it.
      module Deferral
        # Set in the fiber that enqueues many jobs, whose classes may have another way for that.
        MANY = :penstock_enqueues_many
        private_constant :MANY

        # Prepended to the singleton classes of job classes: a class that sets the attribute has a reader of its own.
        module Reader
          # @return [Object] the value that was set; for a class whose jobs go through the outbox that of not waiting
          def enqueue_after_transaction_commit = Deferral.never?(self) ? Deferral.never : super
        end

        # Prepended to the singleton class of ActiveJob::Base.
        module Writer
          def enqueue_after_transaction_commit=(value)
            super
            Deferral.cover(self)
          end
        end

        # Rails 8.1 also asks before it enqueues many jobs.
        module Many
          def perform_all_later(*)
            outer, Thread.current[MANY] = Thread.current[MANY], true
            super
          ensure
            Thread.current[MANY] = outer
          end
        end

        class << self
          # @param base [Class] ActiveJob::Base; Rails 7.1 never waits
          def install(base)
            return unless ::ActiveJob.const_defined?(:EnqueueAfterTransactionCommit)
            cover(base)
            base.singleton_class.prepend(Writer)
            waiting = ::ActiveJob::EnqueueAfterTransactionCommit
            waiting::ActiveJobMethods.prepend(Many) if waiting.const_defined?(:ActiveJobMethods)
          end

          # @param job_class [Class]
          def cover(job_class)
            job_class.singleton_class.prepend(Reader) if job_class.respond_to?(:enqueue_after_transaction_commit=)
          end

          # @param job_class [Class]
          # @return [Boolean] whether what it enqueues now is written into the transaction
          def never?(job_class)
            options = job_class.penstock_job_options
            (Thread.current[MANY] ? options.enqueue_many : options.enqueue) == :outbox
          end

          # @return [Symbol, false] Rails 7.2 has words, later versions a flag
          def never = (::ActiveJob.version < Gem::Version.new("8.0")) ? :never : false
        end
      end
      private_constant :Deferral

      # @return [Hash{String => Object}]
      def serialize
        current = @penstock_current || CurrentAttributes.capture
        (current.nil? || current.empty?) ? super : super.merge(CurrentAttributes.data_of(current))
      end

      # @param job_data [Hash]
      def deserialize(job_data)
        super
        # If it came without any, it keeps none: those that it has set itself aren't for its next attempt.
        @penstock_current = CurrentAttributes.in(job_data) || {}
      end

      # Inside of what Rails wraps around a job, which resets all attributes. The callbacks of `retry_on` and `discard_on` see
      # them too.
      def perform_now
        return super if @penstock_current.nil? || @penstock_current.empty?
        @penstock_performs = true
        CurrentAttributes.keeping { super }
      ensure
        @penstock_performs = false
      end

      private

      # Where Rails handles errors: an attribute may be a record of the database that is gone. Rails' test helpers call it, too.
      def deserialize_arguments_if_needed
        CurrentAttributes.assign(@penstock_current) if @penstock_performs
        super
      end
    end
  end
end
