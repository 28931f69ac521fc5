# frozen_string_literal: true

require_relative "../base"

module Penstock
  module Generators
    # `bin/rails generate penstock:consumer NAME`
    class ConsumerGenerator < Base
      desc <<~TEXT
        Description:
          Creates a consumer in app/consumers and its route in config/penstock.rb. The topic is called like the consumer, unless
          --topic names another one. A topic that has a route already keeps it. A test of it is created too, for Minitest or
          RSpec, as the application has configured it for its generators.

        Examples:
          bin/rails generate penstock:consumer orders
              app/consumers/orders_consumer.rb, OrdersConsumer, of the topic orders
          bin/rails generate penstock:consumer billing/invoices
              app/consumers/billing/invoices_consumer.rb, Billing::InvoicesConsumer, of billing.invoices
          bin/rails generate penstock:consumer billing/tax_invoices
              …, Billing::TaxInvoicesConsumer, of billing_tax_invoices: a topic's name mixes no dots and underscores
          bin/rails generate penstock:consumer Mailer --topic order-events
      TEXT

      argument :name, type: :string, desc: "name of the consumer, with or without Consumer"
      class_option :topic, type: :string, desc: "topic that it consumes"

      # @return [void]
      def create_consumer
        create_file "app/consumers/#{path}_consumer.rb", template_text("rails_consumer.rb", topic: topic, consumer: class_name)
      end

      # @return [void]
      def create_route
        add_route(topic, "topic(#{literal(topic)}) { consumer #{class_name} }")
      end

      # @return [void]
      def create_test
        case ::Rails::Generators.options.dig(:rails, :test_framework)&.to_sym
        when :test_unit then create_file "test/consumers/#{path}_consumer_test.rb", test_text("consumer_test.rb")
        when :rspec then create_file "spec/consumers/#{path}_consumer_spec.rb", test_text("consumer_spec.rb")
        end
      end

      private

      def test_text(name)
        template_text(name, topic: literal(topic), consumer: class_name, consumer_test: "#{class_name}Test")
      end

      def path = class_path_of(name, "Consumer")

      def class_name = class_of(name, "Consumer")

      def topic = options[:topic] ? checked_topic(options[:topic]) : topic_of(name, "Consumer")
    end
  end
end
