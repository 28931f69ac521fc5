# frozen_string_literal: true

require_relative "../../on_demand"
require_relative "../command"
require_relative "../confirmation"
require_relative "../table"
require_relative "../target"

module Penstock
  module CLI
    module Security
      # Base class of the commands about rights: options that name resources, principals and operations.
      class AclCommand < CLI::Command
        include Confirmation

        RESOURCES = {topics: :topic, groups: :consumer_group, transactional_ids: :transactional_id}.freeze
        PARTS = [*RESOURCES.keys, :cluster, :principal, :host, :operations, :deny, :allow, :pattern].freeze
        COLUMNS = %w[permission principal host operation resource name pattern].freeze
        private_constant :RESOURCES, :PARTS, :COLUMNS

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.value(:principal, "--principal NAME", "who, as in User:billing or User:*")
          parser.list(:operations, "--operations NAMES", "read, write, describe, create, delete, alter, all, …")
          parser.list(:topics, "--topics NAMES", "topics")
          parser.list(:groups, "--groups NAMES", "consumer groups")
          parser.list(:transactional_ids, "--transactional-ids NAMES", "ids of transactional producers")
          parser.flag(:cluster, "--cluster", "the cluster itself")
          parser.value(:pattern, "--pattern KIND", "literal (default of a new right) or prefixed; match in a selection")
          parser.value(:host, "--host ADDRESS", "from where (default of a new right: *)")
          parser.flag(:deny, "--deny", "rights that deny")
          parser.flag(:allow, "--allow", "rights that allow (default of a new right)")
          parser.flag(:json, "--json", "as JSON")
        end

        # @yieldparam admin [Admin]
        def connected(&block) = Target.new(context, options).admin(&block)

        # @return [Boolean] whether an option selects rights
        def chosen? = (options.keys & PARTS).any?

        # @return [Array<(Symbol, String)>] types and names of the resources that are named
        def resources
          named = RESOURCES.flat_map { |option, type| options.fetch(option, []).map { |name| [type, name] } }
          options[:cluster] ? [*named, [:cluster, "kafka-cluster"]] : named
        end

        def permission
          fail_usage "give --allow or --deny, not both" if options[:allow] && options[:deny]
          {allow: options[:allow], deny: options[:deny]}.key(true)
        end

        # @return [Array<Admin::Acl>] to be created
        def acls
          parts = {"--principal" => options[:principal], "--operations" => options[:operations],
                   "one of --topics, --groups, --transactional-ids, --cluster" => resources.first}
          missing = parts.select { |_name, value| value.nil? }
          fail_usage "missing: #{missing.keys.join("; ")}" if missing.any?
          resources.product(options[:operations]).map { |(type, name), operation| acl(type, name, operation) }
        rescue InvalidRequestError => error
          fail_usage error.message
        end

        def acl(type, name, operation)
          Admin::Acl.new(resource_type: type, resource_name: name, operation: operation, principal: options[:principal],
            permission_type: permission || :allow, host: options.fetch(:host, "*"),
            resource_pattern_type: options.fetch(:pattern, :literal))
        end

        # @return [Admin::Acl]
        def filter
          several = [resources.map { |pair| pair.join(" ") }, options.fetch(:operations, [])].find { |list| list.size > 1 }
          fail_usage "select one resource and one operation at a time, not #{several.join(" and ")}" if several

          type, name = resources.first
          parts = {resource_type: type, resource_name: name, principal: options[:principal], host: options[:host],
                   operation: options[:operations]&.first, permission_type: permission,
                   resource_pattern_type: options[:pattern]}
          Admin::Acl.filter(**parts.compact)
        rescue InvalidRequestError => error
          fail_usage error.message
        end

        def show(acls)
          rows = acls.map do |acl|
            [acl.permission_type, acl.principal, acl.host, acl.operation, acl.resource_type, acl.resource_name,
              acl.resource_pattern_type]
          end
          return say_json(rows.map { |row| COLUMNS.zip(row).to_h }) if options[:json]
          return say("no rights") if rows.empty?

          say Table.new(COLUMNS, rows)
        end

        def done(text)
          say(text) unless options[:json]
          ExitCodes::OK
        end
      end
    end
  end
end
