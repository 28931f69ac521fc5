# frozen_string_literal: true

# The jobs of penstock/jobs.rb with Solid Queue on SQLite, in a small application of Rails: Solid Queue is an engine of it.
# The supervisor forks one worker and one dispatcher, its default; the worker reports, so its figures are those of the
# process that performs jobs. TERM ends all three.
require_relative "../probe"
THREADS = Probe["settings"]["concurrency"]
ENV["RAILS_ENV"] = "production"
# A connection for each thread, one for polling and one for heartbeats, as the documentation asks; the time-out that
# `rails new` writes. The journal (WAL) and its syncing are Active Record's defaults.
ENV["DATABASE_URL"] = "sqlite3:#{Probe["folder"]}/queue.sqlite3?pool=#{THREADS + 2}&timeout=5000"
require "rails"
require "active_record/railtie"
require "active_job/railtie"
require "solid_queue"

if ActiveRecord::VERSION::MAJOR < 8
  # solid_queue.gemfile explains why. The gem's railtie would also tag the log lines of each statement, which takes time.
  require "enhanced_sqlite3/adapter"
  ActiveSupport.on_load(:active_record_sqlite3adapter) { prepend EnhancedSQLite3::Adapter }
end

class SolidQueueApp < Rails::Application
  config.load_defaults Rails::VERSION::STRING.to_f
  config.root = Probe["folder"]
  config.eager_load = true
  config.enable_reloading = false
  config.secret_key_base = "bench"
  config.logger = Logger.new(File::NULL, level: Logger::WARN)
  config.active_job.queue_adapter = :solid_queue
  config.solid_queue.on_thread_error = ->(error) { PROBE.error(error) }
end
Rails.application.initialize!
require_relative "../bench_job"

engine = Gem.loaded_specs.fetch("solid_queue").full_gem_path
ActiveRecord::Schema.verbose = false
load File.join(engine, "lib/generators/solid_queue/install/templates/db/queue_schema.rb")
ActiveRecord::Base.connection_handler.clear_all_connections!(:all) # SQLite's must not be used after a fork
BenchJob.enqueue_elsewhere

# The interval is the default: the documentation recommends no other for throughput, and while jobs are queued a worker also polls
# when a thread becomes free. It does recommend the exact name of the queue.
worker = {queues: Probe["topic"], threads: THREADS, processes: 1, polling_interval: 0.1}
SolidQueue::Supervisor.start(workers: [worker], dispatchers: [SolidQueue::Configuration::DISPATCHER_DEFAULTS],
  skip_recurring: true)
