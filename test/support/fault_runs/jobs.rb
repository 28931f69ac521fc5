# frozen_string_literal: true

require "active_support/current_attributes"
require "global_id"
require "penstock/active_job"

module Penstock
  module TestSupport
    module FaultRuns
      # The jobs of a fault run; {JobRecord} lists their kinds. Each writes to its process's journal when it begins and when it
      # ends: the record it came with, its number and id, and the attributes it sees.
      module Jobs
        class Current < ActiveSupport::CurrentAttributes
          attribute :number
        end

        class Failure < StandardError; end

        # A database record that was deleted after the job was enqueued.
        Gone = Struct.new(:id) do
          include GlobalID::Identification

          def self.find(id) = raise(KeyError, "there is no record #{id}")
        end

        @runs = 0
        @lock = Mutex.new

        class << self
          # @param journal [Journal]
          # @param plan [Hash] `folder`, `work_ms`
          def setup(journal, plan)
            @journal = journal
            @plan = plan
            GlobalID.app = "penstock"
            ::ActiveJob::Base.logger = Logger.new(nil)
            ::ActiveJob::Base.queue_adapter = :penstock
            Penstock::ActiveJob.current_attributes = [Current]
          end

          # @return [Hash]
          attr_reader :plan

          def write(...) = @journal.write(...)
          def next_run = @lock.synchronize { @runs += 1 }
        end

        class Base < ::ActiveJob::Base
          around_perform do |job, perform|
            job.begun
            perform.call
            job.ended
            Current.number = -1 # no other job may see it
          end

          # `retry_on` enqueues the job again: the run has ended well.
          def retry_job(...) = super.tap { ended }

          def begun
            topic, partition, offset = provider_job_id.split("/")
            @run = Jobs.next_run
            Jobs.write("begin", @run, topic, partition, offset, executions, nil, nil, Current.number, job_id, arguments.first,
              Current.number, Thread.current.name, nil, offset, offset)
          end

          def ended = Jobs.write("end", @run)
          def failed(error) = Jobs.write("fail", @run, error.class, error.message[0, 80])
        end

        class Good < Base
          def perform(_number, _kind) = sleep(Jobs.plan.fetch(:work_ms, 0) / 1_000.0)
        end

        class Retried < Base
          retry_on IOError, wait: 0, jitter: 0, attempts: 3
          def perform(_number, _kind) = (raise IOError, "again" if executions < 3)
        end

        class Discarded < Base
          discard_on(IOError) { |job, _error| job.ended }
          def perform(_number, _kind) = raise(IOError, "never")
        end

        class Failing < Base
          def perform(number, _kind)
            error = Failure.new("poison #{number}")
            failed(error)
            raise error
          end
        end

        # Kills its process: always, or the first time.
        class Killing < Base
          def perform(number, kind)
            path = File.join(Jobs.plan.fetch(:folder), "killed-#{number}")
            return if kind != "kill" && File.exist?(path)
            File.write(path, "")
            ::Process.kill(:KILL, ::Process.pid)
            sleep
          end
        end

        TYPES = {"retried" => Retried, "discarded" => Discarded, "poison" => Failing, "kill" => Killing,
                 "kill:1" => Killing}.freeze
        MORE = {"poison:arguments" => ->(_number) { [:too, :many] },
                "poison:gone" => ->(number) { [Gone.new(number.to_s)] }}.freeze
        REMOVED = "Penstock::TestSupport::FaultRuns::Jobs::Removed"

        # Attributes are those of the code that serializes a job: each gets its own.
        module Numbered
          def serialize
            data = Current.set(number: arguments.first) { super }
            (arguments[1] == "poison:missing") ? data.merge("job_class" => REMOVED) : data
          end
        end

        # @param number [Integer]
        # @param kind [String]
        # @param queue [String]
        # @return [::ActiveJob::Base] not yet enqueued
        def self.make(number, kind, queue)
          job = TYPES.fetch(kind, Good).new(number, kind, *MORE[kind]&.call(number)).set(queue: queue)
          job.set(wait_until: Time.at(0, Integer(kind.delete_prefix("due:")), :millisecond)) if kind.start_with?("due:")
          job.singleton_class.prepend(Numbered)
          job
        end
      end
    end
  end
end
