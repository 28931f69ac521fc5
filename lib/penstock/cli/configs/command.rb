# frozen_string_literal: true

require_relative "../../on_demand"
require_relative "../command"
require_relative "../confirmation"
require_relative "../table"
require_relative "../target"
require_relative "../../nearest"

module Penstock
  module CLI
    module Configs
      # Base class of the commands about settings of topics, brokers and groups.
      class Command < CLI::Command
        include Confirmation

        TYPES = %w[topic broker group].freeze

        private

        def define(parser) = Target.define_with_timeout(parser)

        # @yieldparam admin [Admin]
        def connected(&block) = Target.new(context, options).admin(&block)

        # @return [Admin::Configs::Resource]
        def resource(type, name)
          fail_usage "#{type.inspect} is none of #{TYPES.join(", ")}" unless TYPES.include?(type)

          Admin::Configs::Resource.new(type: type.to_sym, name: name)
        rescue InvalidRequestError => error
          fail_usage error.message
        end

        # Shows the changes, asks, makes them.
        # @param changed [Admin::Configs::Resource] with its operations
        def change(changed)
          connected do |admin|
            present = admin.describe_configs(resource(changed.type.to_s, changed.name)).first
            refuse_unknown(changed, present)
            changed.operations.each { |operation, name, value| say line(operation, name, present[name], value) }
            admin.alter_configs(changed, validate_only: true)
            next ExitCodes::FAILED unless agreed?("Change #{changed}?")

            admin.alter_configs(changed)
            say "changed #{changed}"
          end
        rescue InvalidRequestError => error
          fail_usage error.message
        end

        # A broker refuses to set what it doesn't know, but takes the removal of it.
        def refuse_unknown(changed, present)
          names = present.configs.map(&:name)
          unknown = changed.operations.filter_map { |operation, name, _| name if operation == :delete && !names.include?(name) }
          return if unknown.empty?

          fail_usage "#{changed} has no setting #{[unknown.join(", "), Nearest.hint(unknown.first, names)].compact.join(". ")}"
        end

        def line(operation, name, from, value)
          "#{name}: #{from || "(unset)"} → #{(operation == :delete) ? "the default" : value}"
        end
      end
    end
  end
end
