# frozen_string_literal: true

require "test_helper"
require_relative "../support/command_line"

# Rails is a matter of the boot file. Here everything exists that could load it: a lockfile with Rails, the
# application's own environment, variables, a `rails` on the load path. Each of them prints a warning when it is loaded.
class NoRailsTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine

  LOUD = 'warn "RAILS WAS LOADED"; exit! 86'
  BOOT = <<~RUBY
    class App < Penstock::App
      setup do |config|
        config.client_id = "plain"
        config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
      end
      routes.draw { topic("orders") { consumer Class.new(Penstock::BaseConsumer) { def consume = nil } } }
    end
    at_exit { puts "RAILS IS THERE" if defined?(Rails) }
  RUBY

  def setup
    super
    write("Gemfile.lock", "GEM\n  specs:\n    rails (7.1.0)\n")
    write("config/environment.rb", LOUD)
    write("config/application.rb", LOUD)
    write("bin/rails", "#!/bin/sh\necho RAILS WAS LOADED\nexit 86\n")
    %w[rails rails/all active_support active_record railties].each { |feature| write("lib/#{feature}.rb", LOUD) }
  end

  test "[no Rails mode] an application boots without Rails, though it is available, with and without REQUIRE_RAILS" do
    write("penstock.rb", BOOT)
    [nil, "false", "true"].each do |required|
      result = penstock("info", env: around(required))

      assert_equal 0, result.code, result.err
      assert_match(/^environment: +staging$/, result.out)
      refute_match(/RAILS/, result.out + result.err)
    end
  end

  test "[no Rails mode] a boot file that requires Rails gets it" do
    write("penstock.rb", "require_relative 'config/environment'")
    result = penstock("info", env: around("false"))

    assert_equal 86, result.code
    assert_includes result.err, "RAILS WAS LOADED"
  end

  private

  def around(required)
    {"REQUIRE_RAILS" => required, "RAILS_ENV" => "staging", "RUBYLIB" => File.join(@dir, "lib")}
  end
end
