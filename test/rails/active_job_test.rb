# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/rails_application"

# Jobs of a Rails application.
class RailsActiveJobTest < Penstock::TestCase
  include Penstock::TestSupport::RailsApplication

  extend Penstock::TestSupport::EmbeddedBroker::OnePerClass

  ROUTES = "active_job_topic ENV.fetch(\"TOPIC\")"
  CONFIGURATION = <<~RUBY
    config.active_job.queue_adapter = :penstock
    config.penstock.current_attributes = %w[Current]
  RUBY

  def job(version)
    write("app/jobs/receipt_job.rb", <<~RUBY)
      class ReceiptJob < ActiveJob::Base
        queue_as ENV.fetch("TOPIC")
        def perform(text)
          File.write(ENV.fetch("JOURNAL"), "job #{version} \#{text} \#{Current.tenant.inspect}\\n", mode: "a")
        end
      end
    RUBY
  end

  def enqueue(text, **attributes)
    runner("Current.set(#{attributes.inspect[1..-2]}) { puts ReceiptJob.perform_later(#{text.inspect}).provider_job_id }").strip
  end

  # Active Job may be loaded by the routes, before or after these lines.
  test "classes of current attributes may be listed in an initializer or in the boot file, too" do
    line = "Penstock::ActiveJob.current_attributes = %w[Current]\n"
    application(configuration: CONFIGURATION.lines.first, routes: ROUTES)
    write("app/models/current.rb", "class Current < ActiveSupport::CurrentAttributes\n  attribute :tenant\nend\n")
    job(1)
    initializer = "config/initializers/jobs.rb"
    boot_file = "require \"penstock/active_job\"\n#{line}#{boot(routes: ROUTES)}"
    {initializer => line, "config/penstock.rb" => boot_file}.each do |path, text|
      write(path, text)
      stored = runner("Current.set(tenant: 7) { puts ReceiptJob.new('x').serialize['penstock_current'].to_json }").strip
      assert_match(/\A\{"Current":\[\{"tenant":7/, stored, path)
      write(initializer, "")
    end
  end

  test "a job that another process enqueued is performed once with its attributes; changed code runs with the next job" do
    application(configuration: CONFIGURATION, routes: ROUTES)
    write("app/models/current.rb", "class Current < ActiveSupport::CurrentAttributes\n  attribute :tenant\nend\n")
    job(1)
    assert_match %r{\A#{@topic}/\d/0\z}, enqueue("first", tenant: 7)
    server = serve
    await_journal(server, "job 1 first 7")
    job(2)
    enqueue("second", tenant: nil)
    await_journal(server, "job 2 second nil")
    stop(server)

    assert_equal ["job 1 first 7", "job 2 second nil"], journal
  end

  FAILING_JOB = <<~RUBY
    class FailingJob < ActiveJob::Base
      queue_as ENV.fetch("TOPIC")
      def perform(text) = raise(text)
    end
  RUBY
  SUBSCRIBER = <<~'RUBY'
    class Noting
      def report(error, handled:, severity:, context:, source: nil)
        line = [error.message, handled, source, *context.values_at(:offset, :attempt), context[:job].class]
        File.write(ENV.fetch("JOURNAL"), "#{line.join(" ")}\n", mode: "a")
      end
    end
    Rails.error.subscribe(Noting.new)
  RUBY

  test "Rails.error gets the first and the last error of a failing job, with the job and its record's place" do
    application(configuration: CONFIGURATION.lines.first, routes: "active_job_topic(ENV.fetch(\"TOPIC\"), max_retries: 2)",
      settings: "config.pause.timeout = config.pause.max_timeout = 10")
    write("app/jobs/failing_job.rb", FAILING_JOB)
    write("config/initializers/errors.rb", SUBSCRIBER)
    server = serve
    runner("FailingJob.perform_later('boom')")
    await_journal(server, /0 3 FailingJob/)
    stop(server)

    assert_equal [1, 3].map { |attempt| "boom false application.penstock 0 #{attempt} FailingJob" }, journal
  end
end
