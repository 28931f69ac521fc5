# frozen_string_literal: true

require_relative "../native/admin"
require_relative "../nearest"
require_relative "../on_demand"
Penstock.load_constant :InvalidRequestError

module Penstock
  class Admin
    # A right: who (principal, host) may or must not (permission) do what (operation) with which resource.
    #
    #     Penstock::Admin::Acl.create(Penstock::Admin::Acl.new(
    #       resource_type: :topic, resource_name: "orders", resource_pattern_type: :literal,
    #       principal: "User:billing", operation: :read, permission_type: :allow
    #     ))
    #
    # With `:any` and nil it is a filter, for {describe} and {delete}. Called on the class, the commands go to the application's
    # cluster; on an {Admin}, `create_acls`, `describe_acls` and `delete_acls` do the same. Immutable.
    class Acl
      # Names of what an ACL consists of, and librdkafka's numbers. A cluster is Kafka's name for what Karafka calls a broker.
      RESOURCE_TYPES = {any: 1, topic: 2, consumer_group: 3, cluster: 4, transactional_id: 5}.freeze
      PATTERN_TYPES = {any: 1, match: 2, literal: 3, prefixed: 4}.freeze
      OPERATIONS = {
        any: 1, all: 2, read: 3, write: 4, create: 5, delete: 6, alter: 7, describe: 8, cluster_action: 9,
        describe_configs: 10, alter_configs: 11, idempotent_write: 12
      }.freeze
      PERMISSION_TYPES = {any: 1, deny: 2, allow: 3}.freeze
      # Other names of resources: Kafka's, and Karafka's.
      SYNONYMS = {group: :consumer_group, broker: :cluster}.freeze
      # The name of the only resource of the type `:cluster`.
      CLUSTER = "kafka-cluster"
      PARTS = {
        resource_type: RESOURCE_TYPES, resource_pattern_type: PATTERN_TYPES, operation: OPERATIONS,
        permission_type: PERMISSION_TYPES
      }.freeze
      private_constant :SYNONYMS, :PARTS

      # @return [Symbol] a key of {RESOURCE_TYPES}; `:unknown` for one that Kafka has and librdkafka hasn't (`User`)
      attr_reader :resource_type
      # @return [String, nil]
      attr_reader :resource_name
      # @return [Symbol] a key of {PATTERN_TYPES}
      attr_reader :resource_pattern_type
      # @return [String, nil] `"User:billing"`, `"User:*"`
      attr_reader :principal
      # @return [String, nil] an address, or `"*"`
      attr_reader :host
      # @return [Symbol] a key of {OPERATIONS}
      attr_reader :operation
      # @return [Symbol] a key of {PERMISSION_TYPES}
      attr_reader :permission_type

      # @param resource_type [Symbol] a key of {RESOURCE_TYPES}; also `:group` and `:broker`
      # @param resource_name [String, nil] nil in a filter: any
      # @param resource_pattern_type [Symbol] a key of {PATTERN_TYPES}; `:match`, in a filter: all that apply to the name
      # @param principal [String, nil] nil in a filter: any
      # @param host [String, nil] nil in a filter: any
      # @param operation [Symbol] a key of {OPERATIONS}
      # @param permission_type [Symbol] a key of {PERMISSION_TYPES}
      # @raise [InvalidRequestError] all names that don't exist or contain a zero byte, a principal without a type or a name,
      #   another name of the cluster than {CLUSTER}
      def initialize(resource_type:, resource_name:, operation:, permission_type:, principal:, resource_pattern_type: :literal,
        host: "*")
        @resource_type = SYNONYMS.fetch(resource_type.to_s.to_sym, resource_type.to_s.to_sym)
        @resource_name = (@resource_type == :cluster) ? CLUSTER : resource_name&.to_s
        @resource_pattern_type = resource_pattern_type.to_s.to_sym
        @principal = principal&.to_s
        @host = host&.to_s
        @operation = operation.to_s.to_sym
        @permission_type = permission_type.to_s.to_sym
        freeze
        problems = [*unknown_names, *zero_bytes, principal_problem, cluster_problem(resource_name)].compact
        raise InvalidRequestError, problems unless problems.empty?
      end

      class << self
        # Grants or denies. An ACL that exists already is no error.
        # @param acls [Array<Acl>]
        # @return [Array<Acl>] the same
        # @raise [InvalidRequestError, KafkaError] see {Admin#create_acls}
        def create(*acls) = Admin.create_acls(*acls)

        # Removes what matches.
        # @param filters [Array<Acl>]
        # @return [Array<Acl>] what was removed
        # @raise [KafkaError] see {Admin#delete_acls}
        def delete(*filters) = Admin.delete_acls(*filters)

        # @param filter [Acl]
        # @return [Array<Acl>] what matches
        # @raise [KafkaError] see {Admin#describe_acls}
        def describe(filter) = Admin.describe_acls(filter)

        # @return [Array<Acl>] all ACLs of the cluster
        def all = describe(filter)

        # @param parts [Hash] as for {#initialize}; what is left out matches everything
        # @return [Acl] a filter
        def filter(**parts)
          new(resource_type: :any, resource_name: nil, resource_pattern_type: :any, principal: nil, host: nil, operation: :any,
            permission_type: :any, **parts)
        end

        # @param row [Array] of {Native::Admin}
        # @return [Acl]
        # @api private
        def of(row)
          type, name, pattern, principal, host, operation, permission = row
          allocate.tap do |acl|
            acl.__send__(:fill, RESOURCE_TYPES.key(type), name, PATTERN_TYPES.key(pattern), principal, host,
              OPERATIONS.key(operation), PERMISSION_TYPES.key(permission))
          end
        end
      end

      # @return [Array] for {Native::Admin}
      # @api private
      def to_row
        [RESOURCE_TYPES[@resource_type], @resource_name, PATTERN_TYPES[@resource_pattern_type], @principal, @host,
          OPERATIONS[@operation], PERMISSION_TYPES[@permission_type]]
      end

      # The parts that only a filter may leave open.
      # @return [Array<Problem>]
      # @api private
      def problems
        anything = {resource_type: :any, resource_pattern_type: :any, operation: :any, permission_type: :any}
          .select { |part, any| public_send(part) == any }.keys
        anything << :resource_pattern_type if @resource_pattern_type == :match
        anything += %i[resource_name principal host].select { |part| public_send(part).to_s.empty? }
        anything.map { |part| Problem.new(to_s, "#{part} is #{public_send(part).inspect}, which only a filter may be") }
      end

      def ==(other) = other.is_a?(Acl) && parts == other.parts
      alias_method :eql?, :==
      def hash = parts.hash

      # @return [String] `allow User:billing (from *) read topic orders (literal)`
      def to_s
        "#{@permission_type} #{@principal || "any principal"} (from #{@host || "any host"}) #{@operation} " \
          "#{@resource_type} #{@resource_name || "of any name"} (#{@resource_pattern_type})"
      end

      # @return [String]
      def inspect = "#<#{self.class} #{self}>"

      protected

      def parts
        [@resource_type, @resource_name, @resource_pattern_type, @principal, @host, @operation, @permission_type]
      end

      private

      # A filter with a bare name matches nothing, and brokers don't refuse it.
      def principal_problem
        return if @principal.nil? || @principal.empty? || @principal.match?(/:./m)
        return Problem.new("principal", "#{@principal.inspect} has no name", "Write \"User:NAME\"") if @principal.end_with?(":")

        Problem.new("principal", "#{@principal.inspect} has no type", "Write \"User:#{@principal}\"")
      end

      # There is one resource of this type. A right for another name would be one for it.
      def cluster_problem(name)
        return if @resource_type != :cluster || name.nil? || ["", CLUSTER].include?(name.to_s)

        Problem.new("resource_name", "#{name.inspect} is no name of a cluster", "Write #{CLUSTER.inspect}, or leave it nil")
      end

      # The client library takes names as C strings.
      def zero_bytes
        %i[resource_name principal host].filter_map do |part|
          value = public_send(part)
          Problem.new(part.to_s, "#{value.inspect} contains a zero byte") if value&.b&.include?("\0")
        end
      end

      # Reads what a broker has, which may be more than can be written.
      def fill(*parts)
        @resource_type, @resource_name, @resource_pattern_type, @principal, @host, @operation, @permission_type =
          parts.map { |part| part.nil? ? :unknown : part }
        freeze
      end

      def unknown_names
        PARTS.filter_map do |part, names|
          name = public_send(part)
          next if names.key?(name)

          Problem.new("#{part}: #{name.inspect}", "is none of #{names.keys.map(&:inspect).join(", ")}",
            Nearest.hint(name, names.keys))
        end
      end
    end
  end
end
