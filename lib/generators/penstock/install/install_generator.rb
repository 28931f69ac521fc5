# frozen_string_literal: true

require_relative "../base"

module Penstock
  module Generators
    # `bin/rails generate penstock:install`
    class InstallGenerator < Base
      desc <<~TEXT
        Description:
          Sets Penstock up in this application: config/penstock.rb (the boot file: settings and routes), app/consumers with an
          ApplicationConsumer and a consumer of TOPIC, and bin/penstock.

          In development the consumers then run with the web server, and so does an in-memory broker unless one listens: by
          Puma's plugin (`bin/rails server`), or, if there is a Procfile.dev, by two lines in it (`bin/dev`).

          It can be run again: unchanged files are left as they are, and it asks before it overwrites others.

        Example:
          bin/rails generate penstock:install orders
      TEXT

      argument :topic, type: :string, default: "example", desc: "topic of the first consumer"
      class_option :development, type: :boolean, default: true, desc: "Run the consumers with the web server in development"

      PLUGIN = <<~RUBY

        # In development, Puma also runs the consumers (config/penstock.rb), and an in-memory Kafka unless a broker listens.
        plugin :penstock if ENV.fetch("RAILS_ENV", "development") == "development"
      RUBY
      PROCESSES = <<~TEXT
        kafka: bin/penstock broker
        penstock: bin/penstock server
      TEXT
      private_constant :PLUGIN, :PROCESSES

      # @return [void]
      def create_boot_file
        if exists?("penstock.rb") && behavior == :invoke
          return say_status(:skip, "there is a boot file already, penstock.rb: move it to config/penstock.rb and remove its " \
                                   "`require` of config/environment, so that Rails loads it", :yellow)
        end
        create_file "config/penstock.rb", template_text("penstock.rails.rb", topic: literal(topic_name), consumer: class_name,
          application: CLI::Templates.application_name(destination_root))
      end

      # @return [void]
      def create_consumers
        create_file "app/consumers/application_consumer.rb", template_text("application_consumer.rb")
        create_file "app/consumers/#{class_path_of(topic, "Consumer")}_consumer.rb",
          template_text("rails_consumer.rb", topic: topic_name, consumer: class_name)
      end

      # @return [void]
      def create_binstub
        create_file "bin/penstock", template_text("binstub.rb")
        chmod "bin/penstock", 0o755, verbose: false if behavior == :invoke
      end

      # @return [void]
      def run_in_development
        return unless options[:development]
        return append("Procfile.dev", PROCESSES, /bin\/penstock|penstock server/) if exists?("Procfile.dev")
        return append("config/puma.rb", PLUGIN, /^\s*plugin :penstock\b/) if exists?("config/puma.rb")
        say_status(:skip, "there is neither config/puma.rb nor Procfile.dev: run `bin/penstock development` to consume", :yellow)
      end

      # @return [void]
      def show_next_steps
        return if behavior == :revoke
        say <<~TEXT

          Next:
            #{start_command.ljust(20)} starts the consumers too, and an in-memory Kafka if no broker listens
            bin/penstock produce #{topic_name} '{"hello": "world"}'

          In production run `bin/penstock server`. docs/rails.md of the gem explains the rest.
        TEXT
      end

      private

      def topic_name = topic_of(topic, "Consumer")

      def class_name = class_of(topic, "Consumer")

      def exists?(path) = File.file?(File.join(destination_root, path))

      def append(path, text, present)
        there = File.read(File.join(destination_root, path))
        return say_status(:identical, path, :blue) if behavior == :invoke && there.match?(present)
        append_to_file(path, (there.end_with?("\n") || behavior == :revoke) ? text : "\n#{text}")
      end

      def start_command
        return "bin/penstock dev" unless options[:development]
        exists?("Procfile.dev") ? "bin/dev" : "bin/rails server"
      end
    end
  end
end
