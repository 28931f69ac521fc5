# frozen_string_literal: true

require "penstock/active_job"
# Otherwise loaded by the first job, at the same time as a server's thread loads files that both use: Ruby 3.1 takes one thread's
# waiting for the other for a circular require, and warns.
require "penstock/producer"
require "active_support/current_attributes"
require "global_id"
require_relative "consuming"

module Penstock
  module TestSupport
    # Runs small applications that perform jobs of Active Job. Jobs report what they do to {.done}, a queue of the test's process.
    module ActiveJobs
      # Attributes of the caller.
      class Current < ActiveSupport::CurrentAttributes
        attribute :tenant, :user
      end

      # Found by its id, unless it was deleted.
      Record = Struct.new(:id) do
        include GlobalID::Identification

        def self.find(id)
          raise KeyError, "there is no record #{id}" if id == "deleted"
          new(id)
        end
      end

      class << self
        # @return [Thread::Queue]
        attr_accessor :done
      end

      class Base < ::ActiveJob::Base
        def self.done = ActiveJobs.done
        def done = ActiveJobs.done
      end

      class Note < Base
        def perform(*arguments, **options) = done << (options.empty? ? arguments : [*arguments, options])
      end

      class Failing < Base
        def perform(value)
          done << [value, executions]
          raise ArgumentError, "no #{value}"
        end
      end

      # Fails until {.open} is set. {.runs}: how often each has failed.
      class Gated < Base
        class << self
          attr_accessor :open, :runs
        end

        def perform(number)
          return done << [number] if self.class.open
          self.class.runs << number
          raise ArgumentError, "not yet"
        end
      end

      class Retried < Base
        retry_on IOError, wait: 0, jitter: 0, attempts: 3

        def perform(value)
          done << [value, executions, provider_job_id, Current.tenant, job_id]
          Current.tenant = "changed by the job"
          raise IOError, "again" if executions < 3
        end
      end

      class Discarded < Base
        discard_on IOError

        def perform(value)
          done << [value, executions]
          raise IOError, "never"
        end
      end

      class Waiting < Base
        class << self
          attr_accessor :gate
        end

        def perform(value)
          self.class.gate.pop
          done << [value]
        end
      end

      class Seeing < Base
        def perform(value, fail: false)
          done << [value, Current.tenant, Current.user]
          Current.tenant = Current.user = "left behind"
          raise "no" if fail
        end
      end

      class Asking < Base
        def perform
          done << :begun
          Wait.wait_until(20, "a stop") { queue_adapter.stopping? }
          done << :stopping
        end
      end

      def setup
        super
        GlobalID.app = "penstock"
        ::ActiveJob::Base.logger = Logger.new(nil)
        ActiveJobs.done = queue
        Current.reset
      end

      def done = ActiveJobs.done

      # An application with one queue, whose jobs go to it.
      # @param options [Hash] of `active_job_topic`; `partitions`
      # @param settings [Hash] of the application
      # @return [Running]
      def performing(name = unique("jobs"), partitions: 1, options: {}, block: nil, **settings)
        @queue_name = name
        [name, "#{name}-dead"].each { |topic| create_topic(topic, (topic == name) ? partitions : 1) }
        quick = {"auto.commit.interval.ms": 50, **settings.delete(:kafka).to_h}
        application = jobs_application(name, options, block, {**settings, kafka: quick})
        enqueue_to(application)
        yield application if block_given?
        yield_running(application)
      end

      def enqueue_to(application)
        ::ActiveJob::Base.queue_adapter = ::ActiveJob::QueueAdapters::PenstockAdapter.new(producer: -> { application.producer })
      end

      def jobs_application(name, options, block, settings)
        build_empty(settings).tap do |application|
          application.routing.draw { active_job_topic(name, **options, &block) }
        end
      end

      # @param job_class [Class]
      # @return [ActiveJob::ConfiguredJob] of the queue
      def to(job_class, **options) = job_class.set(queue: @queue_name, **options)

      # @return [ActiveJob::Base] of the queue, not enqueued
      def job(job_class, *arguments, **options) = job_class.new(*arguments, **options).set(queue: @queue_name)

      # @return [Hash] data of a job in the queue, as Active Job writes it
      def data(job_class, *arguments, **more) = job(job_class, *arguments).serialize.merge(more.transform_keys(&:to_s))
    end
  end
end
