# frozen_string_literal: true

module Penstock
  module TestSupport
    # Code of the Rails application of test/ledger/rails_jobs_test.rb.
    module RailsJobOutage
      JOBS = <<~'RUBY'
        class ApplicationJob < ActiveJob::Base
          queue_as { ENV.fetch("TOPIC") }
          def perform(number) = note("done", number)
          def note(event, number) = File.write(ENV.fetch("JOURNAL"), "#{event} #{self.class} #{number}\n", mode: "a")
        end
        class PatientJob < ApplicationJob
        end
        class QuickJob < ApplicationJob
          QUICK = Penstock::Producer.new { |config| config.kafka = {**PenstockApp.config.kafka, "message.timeout.ms": 3_000} }
          penstock_options producer: ->(_job) { QUICK }
        end
        class OutboxJob < ApplicationJob
          penstock_options enqueue: :outbox
        end
        class LongJob < ApplicationJob
          def perform(number)
            note("begin", number)
            sleep(0.05) until File.exist?("release")
            super
          end
        end
      RUBY
      # Enqueues jobs of each class one after another until a file asks it to stop, and writes what became of each.
      ENQUEUER = <<~'RUBY'
        require "./config/environment"
        LOCK = Mutex.new
        def outcome(*values) = LOCK.synchronize { File.write("outcomes", "#{JSON.generate(values)}\n", mode: "a") }
        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        Rails.autoloaders.main.eager_load
        LongJob.perform_later(0)
        [PatientJob, QuickJob, OutboxJob].map do |type|
          Thread.new do
            (1..).each do |number|
              break if File.exist?("stop")
              began = now
              type.perform_later(number)
              outcome(type.name, number, "enqueued", now - began)
              sleep(0.1)
            rescue Penstock::ProduceError => error
              outcome(type.name, number, "refused", now - began, error.class, error.message)
            end
          end
        end.each(&:join)
        QuickJob::QUICK.close
      RUBY
    end
  end
end
