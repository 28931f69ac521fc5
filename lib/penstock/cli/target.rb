# frozen_string_literal: true

require_relative "../errors"
require_relative "boot"

module Penstock
  module CLI
    # The cluster a command works with: that of `--bootstrap`, else the application's, else, where there is no boot file,
    # that of KAFKA_BOOTSTRAP_SERVERS. `-X name=value` adds or replaces single properties of librdkafka.
    class Target
      VARIABLE = "KAFKA_BOOTSTRAP_SERVERS"

      # Declares the options that {new} reads.
      #
      # @param parser [Arguments]
      def self.define(parser)
        parser.value(:bootstrap, "--bootstrap SERVERS", "host:port[,…] of the cluster (default: the application's)")
        parser.pairs(:properties, "-X", "--property NAME=VALUE", "a librdkafka property; may be repeated")
      end

      # @param context [Context]
      # @param options [Hash] `:bootstrap`, `:properties`
      def initialize(context, options)
        @context = context
        @options = options
      end

      # @return [Hash{Symbol => Object}] librdkafka's settings, as in `config.kafka`
      # @raise [MissingBootFileError] neither an address nor an application is known
      def kafka
        @kafka ||= base.merge(extra)
      end

      # @return [Application, nil] nil where the address came from elsewhere
      def application
        return if @options[:bootstrap]

        @application ||= Boot.new(@context).application
      rescue MissingBootFileError
        raise unless from_environment
      end

      private

      def base
        return {"bootstrap.servers": @options[:bootstrap]} if @options[:bootstrap]

        application ? application.config.kafka : {"bootstrap.servers": from_environment}
      end

      def extra
        (@options[:properties] || {}).transform_keys(&:to_sym)
      end

      def from_environment
        value = @context.env[VARIABLE].to_s
        value unless value.empty?
      end
    end
  end
end
