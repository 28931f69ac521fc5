# frozen_string_literal: true

require_relative "../base"

module Penstock
  module Generators
    # `bin/rails generate penstock:job NAME`
    class JobGenerator < Base
      desc <<~TEXT
        Description:
          Creates an Active Job with Rails' own generator, and what it needs to run on Kafka: `active_job_topic` of its queue in
          config/penstock.rb, and the adapter in config/application.rb, unless one is configured.

        Examples:
          bin/rails generate penstock:job receipt
          bin/rails generate penstock:job charge --queue ledger
      TEXT

      argument :name, type: :string, desc: "name of the job, with or without Job"
      class_option :queue, type: :string, default: "default", desc: "queue, and so topic, of the job"

      ADAPTER = "config.active_job.queue_adapter = :penstock"
      CONFIGURED = /^\s*config\.active_job\.queue_adapter\s*=\s*:(\w+)/
      private_constant :ADAPTER, :CONFIGURED

      # @return [void]
      def create_job
        raise Thor::Error, "Active Job isn't loaded: require \"active_job/railtie\" in config/application.rb" unless active_job?
        check_names unless behavior == :revoke
        words = [name, "--queue", options[:queue], *("--force" if options[:force]), *("--skip" if options[:skip])]
        ::Rails::Generators.invoke("job", words, behavior: behavior, destination_root: destination_root)
      end

      # @return [void]
      def create_route
        return if behavior == :revoke # other jobs may use the queue
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

      private

      def active_job? = ::Rails::Generators.find_by_namespace("job").present? && defined?(::ActiveJob::Base)

      # Before the first file is written.
      def check_names
        class_of(name, "Job")
        checked_topic(options[:queue])
      end

      # @return [Array<(String, String)>] files that set an adapter, with its name
      def configured
        files = Dir["config/application.rb", "config/environments/{development,production}.rb", base: destination_root]
        files.filter_map do |file|
          adapter = File.read(File.join(destination_root, file))[CONFIGURED, 1]
          [file, adapter] if adapter
        end
      end
    end
  end
end
