# frozen_string_literal: true

require "rails/generators"
require "penstock/cli/templates"

module Penstock
  # `bin/rails generate penstock:…`
  module Generators
    # Base class of the generators: finds the boot file and adds routes to it. Rails creates an object for each run.
    class Base < ::Rails::Generators::Base
      BOOT_FILES = %w[config/penstock.rb penstock.rb].freeze
      ROUTES = /^ *routes\.draw do\n/
      TOPIC_NAME = /\A(?!\.\.?\z)[a-zA-Z0-9._-]{1,249}\z/
      CLASS_NAME = /\A[[:upper:]][[:word:]]*(?:::[[:upper:]][[:word:]]*)*\z/
      private_constant :BOOT_FILES, :ROUTES, :TOPIC_NAME, :CLASS_NAME

      private

      def template_text(name, **values) = CLI::Templates.text(name, **values)

      # @param name [String] as typed: `orders`, `OrdersConsumer`, `billing/invoices`, `order-events`
      # @param suffix [String] `Consumer`
      # @return [String] the path of the class, without the suffix: `billing/invoices`
      def class_path_of(name, suffix) = name.tr(".-", "_").underscore.delete_suffix("_#{suffix.underscore}")

      # A file whose name isn't that of a class prevents Rails from booting, so it must not be written; neither may the base class
      # of the others be overwritten with one that is derived from itself.
      # @return [String] the class: `Billing::InvoicesConsumer`
      # @raise [Thor::Error]
      def class_of(name, suffix)
        found = "#{class_path_of(name, suffix).camelize}#{suffix}"
        raise Thor::Error, "#{found} is the base class of the others: choose another name" if found == "Application#{suffix}"
        return found if found.match?(CLASS_NAME)
        raise Thor::Error, "#{name.inspect} can't be a class's name (#{found}): begin with a letter, and use letters, digits " \
                           "and underscores; slashes separate modules"
      end

      # @return [String] as a topic's name: `billing.invoices`, `billing_tax_invoices`; one that has dots or dashes stays as it is
      def topic_of(name, suffix)
        path = class_path_of(name, suffix)
        checked_topic(if name.match?(/[.-]/)
          name
        else
          path.tr("/", path.include?("_") ? "_" : ".")
        end)
      end

      # @return [String] the same
      # @raise [Thor::Error]
      def checked_topic(topic)
        if topic.include?(".") && topic.include?("_") && behavior == :invoke && !mixed_allowed?
          raise Thor::Error, "#{topic.inspect} mixes dots and underscores, which the routes refuse, as they are the same in " \
                             "metrics: use one of them, or set config.strict_topics_namespacing = false before"
        end
        return topic if topic.match?(TOPIC_NAME)
        raise Thor::Error, "#{topic.inspect} can't be a topic's name: use letters, digits, dots, dashes and underscores, at " \
                           "most 249, but not . or .."
      end

      def mixed_allowed?
        BOOT_FILES.any? do |name|
          path = File.join(destination_root, name)
          File.file?(path) && File.read(path).match?(/^\s*\w+\.strict_topics_namespacing\s*=\s*false\b/)
        end
      end

      # @return [String] as Ruby: `:orders`, `"order-events"`
      def literal(name) = name.match?(/\A[a-z_]\w*\z/i) ? ":#{name}" : name.inspect

      # Adds a line to the routes, unless the topic has one.
      # @param topic [String]
      # @param line [String]
      def add_route(topic, line)
        file = BOOT_FILES.find { |name| File.file?(File.join(destination_root, name)) }
        text = file ? File.read(File.join(destination_root, file)) : ""
        return say_status(:skip, "#{file} has a route of #{topic}", :blue) if behavior == :invoke && routed?(text, topic)
        return ask_for(file || BOOT_FILES.first, line) unless text.match?(ROUTES)

        insert_into_file(file, "    #{line}\n", after: ROUTES)
      end

      def routed?(text, topic)
        text.match?(/^\s*(?:active_job_)?topic[ (]\s*(?::#{Regexp.escape(topic)}|["']#{Regexp.escape(topic)}["'])(?![\w.-])/)
      end

      def ask_for(file, line)
        return if behavior == :revoke
        say_status(:skip, "#{file} has no line `routes.draw do`. Add this to your routes:\n#{" " * 14}#{line}", :yellow)
      end
    end
  end
end
