# frozen_string_literal: true

require "penstock/active_job"
require "active_support/current_attributes"
require "global_id"

module Penstock
  module TestSupport
    # Jobs of fault runs. Each writes to its process's journal when it begins and when it ends: its number, the record it came
    # with, its id and the attributes it sees.
    module ActiveJobFaults
      class Current < ActiveSupport::CurrentAttributes
        attribute :number
      end

      # A record that was deleted after the job was enqueued.
      Gone = Struct.new(:id) do
        include GlobalID::Identification

        def self.find(id) = raise(KeyError, "there is no record #{id}")
      end

      class << self
        # @return [String]
        attr_accessor :folder

        # One write per line: processes that die leave whole lines.
        def note(*values)
          @files ||= {}
          @files[::Process.pid] ||= File.open(File.join(folder, "journal-#{::Process.pid}"), "a").tap { |file| file.sync = true }
          @files[::Process.pid].write("#{JSON.generate(values)}\n")
        end
      end

      class Base < ::ActiveJob::Base
        around_perform do |job, perform|
          number = job.arguments.first
          ActiveJobFaults.note("begin", number, job.provider_job_id, job.job_id, job.executions, Current.number)
          perform.call
          ActiveJobFaults.note("end", number, job.provider_job_id, job.job_id, job.executions, Current.number)
          Current.number = -1 # no other job may see it
        end
      end

      class Good < Base
        def perform(number) = number
      end

      class Retried < Base
        retry_on IOError, wait: 0, jitter: 0, attempts: 3
        def perform(_number) = (raise IOError, "again" if executions < 3)
      end

      class Discarded < Base
        discard_on IOError
        def perform(_number) = raise(IOError, "never")
      end

      class Failing < Base
        def perform(number) = raise(ArgumentError, "no #{number}")
      end

      # Kills its process, the first time or always.
      class Killing < Base
        def perform(number, always)
          path = File.join(ActiveJobFaults.folder, "killed-#{number}")
          return if !always && File.exist?(path)
          File.write(path, "")
          ::Process.kill(:KILL, ::Process.pid)
          sleep
        end
      end

      # Enqueued by its data: this class doesn't exist where it is performed.
      MISSING = "Penstock::TestSupport::ActiveJobFaults::Removed"
    end
  end
end
