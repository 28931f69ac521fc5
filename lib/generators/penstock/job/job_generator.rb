# frozen_string_literal: true

require_relative "../base"

module Penstock
  module Generators
    # `bin/rails generate penstock:job NAME`
    class JobGenerator < Base
      desc <<~TEXT
        Description:
          Creates an Active Job with Rails' own generator, and what it needs to run on Kafka: `active_job_topic` of its queue in
          config/penstock.rb, and the adapter in config/application.rb, unless one is configured. Tests then use Active Job's
          test adapter, by a line in config/environments/test.rb.

        Examples:
          bin/rails generate penstock:job receipt
          bin/rails generate penstock:job charge --queue ledger
      TEXT

      argument :name, type: :string, desc: "name of the job, with or without Job"
      class_option :queue, type: :string, default: "default", desc: "queue, and so topic, of the job"

      ADAPTER = "config.active_job.queue_adapter = :penstock"
      TEST_ADAPTER = "config.active_job.queue_adapter = :test"
      TEST_FILE = "config/environments/test.rb"
      SETTING = /^\s*config\.active_job\.queue_adapter\s*=/
      CONFIGURED = /#{SETTING}\s*:(\w+)/
      BLOCK = /^Rails\.application\.configure do\n/
      private_constant :ADAPTER, :BLOCK, :CONFIGURED, :SETTING, :TEST_ADAPTER, :TEST_FILE

      # @return [void]
      def create_job
        raise Thor::Error, "Active Job isn't loaded: require \"active_job/railtie\" in config/application.rb" unless active_job?
        class_of(name, "Job")
        checked_topic(options[:queue]) unless behavior == :revoke
        switches = %w[force skip pretend].filter_map { |switch| "--#{switch}" if options[switch.to_sym] }
        words = [path, "--queue", options[:queue], *switches]
        ::Rails::Generators.invoke("job", words, behavior: behavior, destination_root: destination_root)
        check_written if behavior == :invoke && !options[:pretend]
      end

      # @return [void]
      def create_route
        return say_status(:skip, "the route of the queue #{options[:queue]} stays: other jobs may use it", :blue) if
          behavior == :revoke

        add_route(options[:queue], "active_job_topic #{literal(options[:queue])}")
      end

      # @return [void]
      def configure_adapter
        return if behavior == :revoke
        others = configured.reject { |_file, adapter| adapter == "penstock" }
        others.each do |file, adapter|
          say_status(:skip, "#{file} sets the adapter :#{adapter}; for Kafka write :penstock there", :yellow)
        end
        environment(ADAPTER) unless configured.any? { |file, _adapter| file == "config/application.rb" }
      end

      # Without it, tests would use the adapter of config/application.rb: Active Job's helpers have no effect then, and
      # `perform_later` waits for a broker.
      # @return [void]
      def configure_tests
        return if behavior == :revoke || !configured.include?(["config/application.rb", "penstock"])

        text = read(TEST_FILE)
        return if text.match?(SETTING)
        return environment(TEST_ADAPTER, env: "test") if text.match?(BLOCK)
        say_status(:skip, "#{TEST_FILE} has no line `Rails.application.configure do`. Add this to the settings of tests:\n" \
          "#{" " * 14}#{TEST_ADAPTER}", :yellow)
      end

      private

      def path = class_path_of(name, "Job")

      # Rails' generator only prints why it refuses a job.
      def check_written
        return if Dir["app/jobs/**/#{path}_job.rb", base: destination_root].any?
        raise Thor::Error, "app/jobs/#{path}_job.rb wasn't written, so nothing was added to the routes and settings either"
      end

      def active_job? = ::Rails::Generators.find_by_namespace("job").present? && defined?(::ActiveJob::Base)

      # @return [Array<(String, String)>] files that set an adapter, with its name
      def configured
        files = Dir["config/application.rb", "config/environments/{development,production}.rb", base: destination_root]
        files.filter_map do |file|
          adapter = read(file)[CONFIGURED, 1]
          [file, adapter] if adapter
        end
      end

      # @return [String] empty if there is no such file
      def read(file)
        path = File.join(destination_root, file)
        File.file?(path) ? File.read(path) : ""
      end
    end
  end
end
