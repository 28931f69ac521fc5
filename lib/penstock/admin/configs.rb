# frozen_string_literal: true

require_relative "../nearest"
require_relative "../native/admin"
require_relative "../on_demand"
require_relative "arguments"
Penstock.load_constant :InvalidRequestError

module Penstock
  class Admin
    # Settings of topics, brokers and groups.
    #
    #     orders = Penstock::Admin::Configs::Resource.new(type: :topic, name: "orders")
    #     orders.set("retention.ms", 86_400_000)
    #     Penstock::Admin::Configs.alter(orders)
    #
    # Called on the module, the commands go to the application's cluster; on an {Admin}, `describe_configs` and `alter_configs`
    # do the same.
    module Configs
      # Where the value of a setting comes from, by librdkafka's number.
      SOURCES = {
        0 => :unknown, 1 => :topic, 2 => :broker, 3 => :cluster, 4 => :file, 5 => :default, 8 => :group
      }.freeze

      # One setting as a broker describes it. `source`: `:topic`, `:group`, `:broker` (set for one broker), `:cluster` (set for
      # all brokers), `:file` (server.properties), `:default`, `:unknown`; `synonyms`: the same setting at the other places, in
      # the order in which they apply. `value` is nil where it is secret.
      Config = Struct.new(:name, :value, :source, :default, :read_only, :sensitive, :synonym, :synonyms, keyword_init: true) do
        alias_method :default?, :default
        alias_method :read_only?, :read_only
        alias_method :sensitive?, :sensitive
        alias_method :synonym?, :synonym

        # @param row [Array] of {Native::Admin}
        # @return [Config] frozen
        def self.of(row)
          name, value, source, (default, read_only, sensitive, synonym), synonyms = row
          new(name: name, value: value, source: SOURCES.fetch(source, :unknown), default: default, read_only: read_only,
            sensitive: sensitive, synonym: synonym, synonyms: (synonyms || []).map { |one| of(one) }.freeze).freeze
        end
      end

      # A topic, a broker or a group, with the changes that {Configs.alter} makes to its settings, or with the settings that
      # {Configs.describe} has read. Not safe for several threads at once.
      class Resource
        TYPES = Native::Admin::RESOURCES

        # @return [:topic, :broker, :group]
        attr_reader :type
        # @return [String] a topic, a broker's id, a group
        attr_reader :name
        # @return [Array<Config>] as described; empty before
        attr_reader :configs
        # @return [Array<(Symbol, String, String)>] operation, setting, value or nil; in the order in which they were added
        attr_reader :operations

        # @param type [:topic, :broker, :group]
        # @param name [String, Integer]
        # @param configs [Array<Config>]
        # @raise [InvalidRequestError]
        def initialize(type:, name:, configs: [])
          @type = TYPES.key(type) || type.to_s.to_sym # Karafka takes Kafka's numbers, too
          @name = name.to_s
          @configs = configs
          @operations = []
          problem = type_problem || name_problem
          raise InvalidRequestError, [problem] if problem
        end

        # Gives a setting a value.
        # @param value [Object] a list may be an Array
        # @return [self]
        def set(setting, value) = add(:set, setting, value)

        # Removes a setting, so that it has its default.
        # @return [self]
        def delete(setting) = add(:delete, setting, nil)

        # Adds to a list (`cleanup.policy`).
        # @param value [Object] an item, or an Array of items
        # @return [self]
        def append(setting, value) = add(:append, setting, value)

        # Removes from a list.
        # @param value [Object] an item, or an Array of items
        # @return [self]
        def subtract(setting, value) = add(:subtract, setting, value)

        # @return [String, nil] the described value of a setting
        def [](setting) = @configs.find { |config| config.name == setting.to_s }&.value

        # @return [String]
        def to_s = "#{@type} #{@name}"

        # Mistakes that a broker would refuse without naming them, or apply in an order that nobody chose.
        # @return [Array<Problem>]
        # @api private
        def problems
          return [Problem.new(to_s, "no change is given", "Call set, delete, append or subtract.")] if @operations.empty?

          names = @operations.group_by { |_operation, setting, _value| setting }
          names.filter_map { |setting, same| problem_of(setting, same) }
        end

        private

        def add(operation, setting, value)
          @operations << [operation, setting.to_s, Arguments.setting(value)].freeze
          self
        end

        def type_problem
          return if TYPES.key?(@type)

          Problem.new("type #{@type.inspect}", "is none of #{TYPES.keys.map(&:inspect).join(", ")}",
            Nearest.hint(@type, TYPES.keys))
        end

        def name_problem
          return Problem.new("name", "of a #{@type} is empty") if @name.empty?
          return unless @type == :broker && Integer(@name, 10, exception: false).nil?

          Problem.new("name #{@name.inspect}", "a broker is named by its id, as in Resource.new(type: :broker, name: 1)")
        end

        def problem_of(setting, same)
          place = "#{self}, #{setting.inspect}"
          return Problem.new(place, "a setting needs a name") if setting.strip.empty?
          return Problem.new(place, "is changed #{same.size} times in one request") if same.size > 1

          operation, _setting, value = same.first
          return if operation == :delete || !value.nil?

          Problem.new(place, "#{operation} needs a value", "delete gives a setting its default.")
        end
      end

      class << self
        # Reads all settings.
        # @param resources [Array<Resource>]
        # @return [Array<Resource>] with their `configs`, in the same order
        # @raise [KafkaError] see {Admin#describe_configs}
        def describe(*resources) = Admin.describe_configs(*resources)

        # Changes settings; those not named stay as they are.
        # @param resources [Array<Resource>] with their operations
        # @param validate_only [Boolean] let the brokers check the changes without making them
        # @return [Array<Resource>] the same
        # @raise [InvalidRequestError, KafkaError] see {Admin#alter_configs}
        def alter(*resources, validate_only: false) = Admin.alter_configs(*resources, validate_only: validate_only)
      end
    end
  end
end
