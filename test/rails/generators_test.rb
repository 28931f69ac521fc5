# frozen_string_literal: true

require "test_helper"
require "penstock/outbox/migration"
require "support/rails_application"

# `bin/rails generate penstock:…`
class RailsGeneratorsTest < Penstock::TestCase
  include Penstock::TestSupport::RailsApplication

  PUMA = "port 3000\n"
  WRITTEN = %w[app/consumers/application_consumer.rb app/consumers/orders_consumer.rb bin/penstock config/penstock.rb].freeze

  def self.cluster = nil

  def setup
    super
    application(boot_file: nil)
    FileUtils.rm_r(File.join(@dir, "app/consumers"))
    write("config/puma.rb", PUMA)
    write("config/boot.rb", "require \"bundler/setup\"\n")
  end

  # Runs generators one after another, in one process.
  # @param calls [Array<Array<String>>] name and arguments; `:destroy` before them reverts them
  # @param env [Hash{Symbol => String}] variables of the environment
  # @param boot [Boolean] whether the application is initialized, which loads the boot file
  # @return [String] what they printed
  def generate(*calls, answers: "", boot: true, **env)
    code = <<~RUBY
      require "./config/application"
      Rails.application.require_environment! if #{boot}
      Rails.application.load_generators
      #{calls.inspect}.each do |name, *words|
        behavior = (name == :destroy) ? :revoke : :invoke
        name = words.shift if behavior == :revoke
        Rails::Generators.invoke("penstock:\#{name}", words, behavior: behavior, destination_root: Dir.pwd)
      end
    RUBY
    Open3.capture2e(rails_environment(**env), RbConfig.ruby, "-rbundler/setup", "-e", code, chdir: @dir,
      stdin_data: answers).first
  end

  def read(path) = File.read(File.join(@dir, path))
  def exist?(path) = File.exist?(File.join(@dir, path))

  def files(pattern = "{app/consumers,bin,db,config}/**/*")
    Dir[pattern, base: @dir].select { |path| File.file?(File.join(@dir, path)) }.to_h { |path| [path, read(path)] }
  end

  # @return [Array<String>] lines of the routes
  def routes = read("config/penstock.rb").lines(chomp: true).map(&:strip).grep(/\A[^#]*topic/)

  test "[generators] install writes a boot file, two consumers and bin/penstock, adds Puma's plugin, and prints the next steps" do
    output = generate(%w[install orders])

    assert_equal WRITTEN, files.keys & WRITTEN
    assert_equal ["topic :orders do"], routes
    assert_includes read("config/penstock.rb"), "config.group_id = \"#{File.basename(@dir)}\""
    assert_includes read("app/consumers/orders_consumer.rb"), "class OrdersConsumer < ApplicationConsumer"
    assert_match(/^plugin :penstock if .*"development"$/, read("config/puma.rb"))
    assert_match(/bin\/rails server.*starts the consumers too/, output)
    refute_match(/CONSUMER|TOPIC|APPLICATION|ROOT_FOLDER/, files.values_at(*WRITTEN).join)
    out, err, status = Open3.capture3(rails_environment, File.join(@dir, "bin/penstock"), "routes", chdir: @dir)
    assert status.success?, err
    assert_includes out, "orders → OrdersConsumer"
    write("config.ru", "") # by which Rails finds its root
    out, err, status = Open3.capture3(rails_environment, File.join(@dir, "bin/penstock"), "routes", chdir: "/")
    assert status.success?, err
    assert_includes out, "orders → OrdersConsumer", "bin/penstock from another folder"
  end

  test "[generators] install can be run again: it changes nothing, and asks before it overwrites a file that was changed" do
    generate(%w[install orders])
    write("app/consumers/orders_consumer.rb", "class OrdersConsumer < ApplicationConsumer\nend\n")
    before = files
    output = generate(%w[install orders], answers: "n\n")

    assert_equal before, files
    assert_match(/conflict .*orders_consumer\.rb/, output)
    assert_match(/identical .*config\/puma\.rb/, output)
  end

  test "[generators] a boot file in the root stays the only one, and its way to config is printed" do
    write("penstock.rb", "")

    assert_includes generate(["install"]), "move it to config/penstock.rb"
    refute exist?("config/penstock.rb")
  end

  test "[generators] a Procfile.dev gets two lines instead of Puma's plugin" do
    write("Procfile.dev", "web: bin/rails server") # without an end of line
    output = generate(["install"], ["install"])

    assert_equal "web: bin/rails server\nkafka: bin/penstock broker\npenstock: bin/penstock server\n", read("Procfile.dev")
    assert_equal PUMA, read("config/puma.rb")
    assert_match(/bin\/dev +starts the consumers too/, output)
  end

  test "[generators] install --skip-development, and an application without Puma, get the command that consumes" do
    generate(%w[install --skip-development])
    assert_equal PUMA, read("config/puma.rb")

    FileUtils.rm(File.join(@dir, "config/puma.rb"))
    assert_match(/neither config\/puma\.rb nor Procfile\.dev: run `bin\/penstock development`/, generate(["install"]))
  end

  test "[generators] destroy reverts install and consumer" do
    before = files
    generate(%w[install orders], %w[consumer payments], [:destroy, "consumer", "payments"], [:destroy, "install", "orders"])

    assert_equal before, files
  end

  test "[generators] consumer: a test is written for the application's framework, and passes" do
    application(boot_file: nil, configuration: "config.generators.test_framework(ENV[\"FRAMEWORK\"]&.to_sym)")
    generate(%w[install orders], %w[consumer payments])
    refute exist?("test/consumers/payments_consumer_test.rb")
    generate(%w[consumer billing/invoices], FRAMEWORK: "rspec")
    assert_includes read("spec/consumers/billing/invoices_consumer_spec.rb"), "RSpec.describe Billing::InvoicesConsumer do"
    assert_includes read("spec/consumers/billing/invoices_consumer_spec.rb"), 'penstock.consumer_for("billing.invoices")'

    generate(%w[consumer payments], FRAMEWORK: "test_unit")
    write("test/test_helper.rb", "require_relative \"../config/environment\"\nrequire \"active_support/testing/autorun\"\n")
    result = ruby("$LOAD_PATH.unshift(\"test\")\nload \"test/consumers/payments_consumer_test.rb\"", RAILS_ENV: "test")
    assert_match(/^1 runs, 1 assertions, 0 failures, 0 errors/, result.out, result.err)
    generate([:destroy, "consumer", "payments"], FRAMEWORK: "test_unit")
    refute exist?("test/consumers/payments_consumer_test.rb")
  end

  test "[generators] consumer: class and topic follow from the name, and the route is added once" do
    output = generate(["install"], %w[consumer order-events], %w[consumer Billing::Invoices], %w[consumer PaymentsConsumer],
      %w[consumer mailer --topic order.events], %w[consumer payments])

    assert_equal ['topic("order.events") { consumer MailerConsumer }', "topic(:payments) { consumer PaymentsConsumer }",
      'topic("billing.invoices") { consumer Billing::InvoicesConsumer }',
      'topic("order-events") { consumer OrderEventsConsumer }', "topic :example do"], routes
    assert_includes read("app/consumers/billing/invoices_consumer.rb"), "class Billing::InvoicesConsumer < ApplicationConsumer"
    assert exist?("app/consumers/order_events_consumer.rb")
    assert_match(/skip  config\/penstock\.rb has a route of payments/, output)
    result = penstock_command("routes")
    assert_equal 0, result.code, result.err
    assert_equal 5, result.out.lines.grep(/→/).size
  end

  test "[generators] a name that Kafka doesn't accept is refused" do
    output = generate(["consumer", "x!y"], ["consumer", "x", "--topic", "a b"])

    ["x!y", "a b"].each { |name| assert_includes output, "\"#{name}\" can't be a topic's name" }
    refute exist?("app/consumers/x_consumer.rb")
  end

  test "[generators] a name that isn't a class's, and a queue that isn't a topic's, are refused before a file is written" do
    assert_match(/can't be a class's name/, generate(%w[install 9lives]))
    refute exist?("config/penstock.rb")
    generate(["install"])
    before = files("{app,config,test}/**/*")
    output = generate(%w[consumer 9lives], %w[consumer billing/9lives --topic lives], %w[job 9lives],
      ["job", "x", "--queue", "bad queue"])

    assert_equal before, files("{app,config,test}/**/*")
    ["9lives\" can't be a class's name (9livesConsumer)", "(Billing::9livesConsumer)", "(9livesJob)",
      "\"bad queue\" can't be a topic's name"].each { |text| assert_includes output, text }
  end

  test "[generators] a topic's name mixes no dots and underscores, which routes would refuse, unless that is allowed" do
    generate(%w[install orders])
    output = generate(%w[consumer billing/tax_invoices], %w[consumer mailer --topic tax.due_dates],
      %w[job tax --queue tax.due_dates])
    assert_equal ["topic(:billing_tax_invoices) { consumer Billing::TaxInvoicesConsumer }", "topic :orders do"], routes
    assert_equal 2, output.scan('"tax.due_dates" mixes dots and underscores').size
    refute exist?("app/consumers/mailer_consumer.rb") || exist?("app/jobs/tax_job.rb")
    assert_equal 0, penstock_command("routes").code

    write("config/penstock.rb", read("config/penstock.rb").sub(/setup do .*\n/) {
      "#{_1}config.strict_topics_namespacing = false\n"
    })
    generate(%w[consumer mailer --topic tax.due_dates])
    assert_includes routes, 'topic("tax.due_dates") { consumer MailerConsumer }'
  end

  test "[generators] without a boot file that draws routes, the line to add is printed" do
    assert_match(/Add this to your routes:\s+topic\(:payments\) { consumer PaymentsConsumer }/, generate(%w[consumer payments]))
    assert exist?("app/consumers/payments_consumer.rb")
  end

  test "[generators] job: Rails' own job, a topic for its queue, and the adapter where none is configured" do
    write("config/application.rb", read("config/application.rb").sub(/^.*queue_adapter.*\n/, ""))
    write("config/environments/production.rb", <<~RUBY)
      Rails.application.configure do
        config.active_job.queue_adapter = :solid_queue
      end
    RUBY
    output = generate(["install"], %w[job charge --queue ledger])

    assert_match(/class ChargeJob < ApplicationJob\n  queue_as :ledger/, read("app/jobs/charge_job.rb"))
    assert_equal ["active_job_topic :ledger", "topic :example do"], routes
    assert_match(/^ +config\.active_job\.queue_adapter = :penstock$/, read("config/application.rb"))
    assert_match(/production\.rb sets the adapter :solid_queue; for Kafka write :penstock there/, output)
  end

  test "[generators] a second job of a queue adds nothing; an adapter that is configured is left as it is" do
    before = read("config/application.rb")
    generate(["install"])
    route = "    active_job_topic(:default) { max_messages 1 }\n"
    write("config/penstock.rb", read("config/penstock.rb").sub("routes.draw do\n") { |line| line + route })
    output = generate(%w[job receipt], boot: false)

    assert_equal ["active_job_topic(:default) { max_messages 1 }", "topic :example do"], routes
    assert_equal before, read("config/application.rb")
    assert_match(/application\.rb sets the adapter :inline/, output)
  end

  test "[generators] the base classes are refused as names of jobs and consumers" do
    generate(["install"])
    write("app/jobs/application_job.rb", "class ApplicationJob < ActiveJob::Base\nend\n")
    before = files("{app,config,test}/**/*")
    output = generate(%w[job application --queue fresh], %w[consumer ApplicationConsumer], %w[install application],
      [:destroy, "job", "application"], [:destroy, "consumer", "application"], answers: "y\n" * 5)

    assert_equal before, files("{app,config,test}/**/*")
    assert_includes output, "ApplicationJob is the base class of the others"
    assert_includes output, "ApplicationConsumer is the base class of the others"
  end

  test "[generators] job: nothing is added for a job that Rails has refused" do
    generate(["install"])
    write("app/models/charge_job.rb", "class ChargeJob\nend\n")
    before = files("{app,config,test}/**/*")
    output = generate(%w[job charge --queue ledger], %w[job receipt --queue ledger --pretend])

    assert_equal before, files("{app,config,test}/**/*")
    assert_match(/name 'ChargeJob' is either already used/, output)
    assert_includes output, "app/jobs/charge_job.rb wasn't written"
  end

  test "[generators] job: after it, tests use Active Job's test adapter, unless they have one" do
    write("config/application.rb", read("config/application.rb").sub(/^.*queue_adapter.*\n/, ""))
    write("config/environments/test.rb", "Rails.application.configure do\nend\n")
    generate(["install"], %w[job receipt], boot: false)
    write("test/receipt_job_test.rb", <<~RUBY)
      require_relative "../config/environment"
      require "active_support/testing/autorun"
      class ReceiptJobTest < ActiveJob::TestCase
        test("enqueued") { assert_enqueued_with(job: ReceiptJob) { ReceiptJob.perform_later } }
      end
    RUBY

    result = ruby("load \"test/receipt_job_test.rb\"", RAILS_ENV: "test")
    assert_match(/^1 runs, \d+ assertions, 0 failures, 0 errors/, result.out, result.err)
    own = "Rails.application.configure do\n  config.active_job.queue_adapter = :inline\nend\n"
    write("config/environments/test.rb", own)
    generate(%w[job refund], boot: false)
    assert_equal own, read("config/environments/test.rb")
    FileUtils.rm(File.join(@dir, "config/environments/test.rb"))
    assert_match(/config\.active_job\.queue_adapter = :test/, generate(%w[job other], boot: false))
  end

  test "[generators] job: destroy keeps the route of the queue, and reports that" do
    output = generate(["install"], %w[job charge --queue ledger], [:destroy, "job", "charge", "--queue", "ledger"])

    refute exist?("app/jobs/charge_job.rb")
    assert_includes routes, "active_job_topic :ledger"
    assert_match(/skip  the route of the queue ledger stays/, output)
  end

  test "[generators] outbox writes the migration once, and it runs" do
    output = generate(["outbox"], ["outbox"])
    migrations = files("db/migrate/*")

    assert_equal 1, migrations.size
    assert_match(/\Adb\/migrate\/\d{14}_create_penstock_outbox\.rb\z/, migrations.keys.first)
    assert_match(/identical/, output)
    version = runner("puts ActiveRecord::Migration.current_version").strip
    assert_equal Penstock::Outbox::Migration.source(version: version), migrations.values.first
    columns = runner('ActiveRecord::Migration.suppress_messages { ActiveRecord::MigrationContext.new("db/migrate").migrate }; ' \
                     'puts ActiveRecord::Base.connection.columns("penstock_outbox").map(&:name).inspect')
    assert_includes columns, "payload"
  end

  test "[generators] every generator explains itself" do
    names = %w[install consumer job outbox]
    output = generate(*names.map { |name| [name, "--help"] })

    assert_equal 4, output.scan(/^Description:\n\s+\w/).size
    assert_equal names, output.scan(/^Examples?:\n\s+bin\/rails generate penstock:(\w+)/).flatten
  end
end
