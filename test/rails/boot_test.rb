# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/rails_application"

# How a Rails application and its boot file are loaded.
class RailsBootTest < Penstock::TestCase
  include Penstock::TestSupport::RailsApplication

  extend Penstock::TestSupport::EmbeddedBroker::OnePerClass

  PRINT = "puts [Rails.application.initialized?, Penstock.app&.name, " \
    "Penstock.app&.routes&.topics&.map { _1.consumer.name }].inspect"

  test "Rails loads config/penstock.rb when it can autoload, so routes name consumers of app/consumers" do
    application

    assert_equal %([true, "PenstockApp", ["OrdersConsumer"]]), runner(PRINT).strip
  end

  test "commands of penstock load the Rails application, and the boot file once" do
    application
    write("config/initializers/trace.rb", "puts 'initializer'")
    write("config/penstock.rb", "puts \"boot file \#{Rails.env}\"\n#{boot}")
    %w[development production].each do |name|
      info = penstock_command("routes", RAILS_ENV: name)

      assert_equal 0, info.code, info.err
      assert_equal ["initializer", "boot file #{name}"], info.out.lines(chomp: true).first(2)
      assert_includes info.out, "OrdersConsumer"
    end
  end

  test "the logger, and consumers that aren't kept where code is reloaded, are defaults that setup overrides" do
    code = "config = Penstock.app.config; puts [config.logger.equal?(Rails.logger), config.consumer_persistence].inspect"
    application
    assert_equal "[true, false]", runner(code).strip
    assert_equal "[true, true]", runner(code, RAILS_ENV: "production").strip

    application(settings: "config.consumer_persistence = true; config.logger = Logger.new($stderr)")
    assert_equal "[false, true]", runner(code).strip
  end

  test "PENSTOCK_BOOT_FILE=false: an initializer defines the application, and the boot file isn't loaded" do
    application(boot_file: nil)
    write("config/penstock.rb", "raise 'loaded'")
    write("config/initializers/kafka.rb", boot(routes: ""))

    assert_equal %([true, "PenstockApp", []]), runner(PRINT, PENSTOCK_BOOT_FILE: "false").strip
    routes = penstock_command("info", PENSTOCK_BOOT_FILE: "false")
    assert_equal 0, routes.code, routes.err
  end

  test "PENSTOCK_BOOT_FILE names another boot file; one that doesn't exist is an error, none at all isn't" do
    application(boot_file: "config/kafka.rb")
    assert_equal "[true, nil, nil]", runner(PRINT).strip
    assert_equal %([true, "PenstockApp", ["OrdersConsumer"]]), runner(PRINT, PENSTOCK_BOOT_FILE: "config/kafka.rb").strip

    missing = ruby('require "./config/environment"', PENSTOCK_BOOT_FILE: "config/other.rb")
    assert_equal 1, missing.code
    assert_match(%r{there is no boot file.*config/other\.rb}m, missing.err)
  end

  test "a penstock.rb in the root is loaded by commands only, and loads Rails itself" do
    application(boot_file: nil)
    write("penstock.rb", "require_relative 'config/environment'\n#{boot}\nputs Penstock.app.config.logger.equal?(Rails.logger)")

    assert_equal "[true, nil, nil]", runner(PRINT).strip
    routes = penstock_command("routes")
    assert_equal 0, routes.code, routes.err
    assert_match(/\Atrue\n.*OrdersConsumer/m, routes.out)
  end

  test "a setting that doesn't exist, or has a wrong value, is an error with the way out" do
    application(configuration: "config.penstock.reprot = :each")
    result = ruby('require "./config/environment"')
    assert_includes result.err, "config.penstock.reprot: there is no such setting. Did you mean report?"

    application(configuration: "config.penstock.report = :never")
    result = ruby('require "./config/environment"')
    assert_includes result.err, "config.penstock.report: must be :first_and_last or :each, is :never"
  end

  test "another PENSTOCK_ENV than RAILS_ENV is warned of when the application runs" do
    application
    server = serve(PENSTOCK_ENV: "staging", RAILS_ENV: "development")

    assert_includes log, "Penstock's environment is staging, that of Rails is development"
    stop(server)
  end

  test "production loads everything at boot" do
    application
    write("app/models/late.rb", "class Late; end\nputs 'loaded'")

    assert_equal ["", "loaded"], [runner("").strip, runner("", RAILS_ENV: "production").strip]
  end

  test "the producer is closed at the end of a process that used it, and messages in flight are delivered" do
    application
    out = runner(<<~'RUBY')
      Penstock.producer.monitor.subscribe("message.acknowledged") { puts "acknowledged" }
      Penstock.producer.produce_async(topic: ENV.fetch("TOPIC"), payload: "late")
      child = fork { exit }
      Process.wait(child)
      puts "child ended with #{$?.exitstatus}"
      at_exit { puts "closed: #{Penstock.producer.closed?}" }
    RUBY

    assert_equal ["acknowledged", "child ended with 0", "closed: false"], out.lines(chomp: true).sort
  end

  test "what is delivered while the producer is closed at the end isn't reported as lost" do
    application
    self.class.cluster.set_rtt(300)
    result = ruby('require "./config/environment"; Penstock.producer.produce_async(topic: ENV.fetch("TOPIC"), payload: "late")')
    assert_equal ["", 0], [result.err[/^penstock: .*/].to_s, result.code]
  ensure
    self.class.cluster.set_rtt(0)
  end

  test "a producer that wasn't used isn't created at the end" do
    application
    assert_equal "",
      runner('TracePoint.new(:class) { |one| puts one.self if one.self.name == "Penstock::Producer" }.enable').strip
  end
end
