# frozen_string_literal: true

# The cost of the wrapper that the Railtie puts around user code, on one thread, without Kafka.
require_relative "../rounds"
Rounds.use_gems
gem "rails", (RUBY_VERSION < "3.2") ? "~> 7.2.0" : "~> 8.1.0"
require "logger"
require "rails"
require "active_record/railtie"
require "penstock"
require "tmpdir"

# The smallest application with a database.
class BenchApplication < Rails::Application
  config.root = Dir.mktmpdir
  config.eager_load = true
  config.secret_key_base = "bench"
  config.logger = Logger.new(IO::NULL)
end
Rails.env = "production"
ENV["DATABASE_URL"] = "sqlite3::memory:"
BenchApplication.initialize!
ActiveRecord::Base.connection.execute("SELECT 1")
ActiveRecord::Base.connection_handler.clear_active_connections!(:all)

class Current < ActiveSupport::CurrentAttributes
  attribute :user
end

class BenchConsumer < Penstock::BaseConsumer
  def consume = nil
end

class PenstockApp < Penstock::App
  routes.draw { topic(:bench) { consumer BenchConsumer } }
end

app = PenstockApp.application
topic = app.routes.topics.first
wrapper = app.middleware.to_stack.wrapper or raise "the Railtie has set no wrapper"
rounds = Rounds.new(Probe["calls"])
work = -> { Current.user = 1 }
probe = Probe.new
probe.first
alone, objects_alone = rounds.best { work.call }
wrapped, objects = rounds.best { wrapper.call(topic, :consume, &work) }
bound, = rounds.best { Rails.application.executor.wrap(&work) }
probe.finish({us_a_call: (wrapped - alone).round(2), objects_a_call: (objects - objects_alone).round(1),
  rails_us_a_call: (bound - alone).round(2)}, records: Probe["calls"])
