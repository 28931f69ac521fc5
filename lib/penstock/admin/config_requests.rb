# frozen_string_literal: true

require_relative "../on_demand"
require_relative "arguments"
require_relative "config_visibility"
require_relative "configs"
require_relative "failures"
Penstock.load_constant :InvalidRequestError

module Penstock
  class Admin
    # Reads and changes settings. Stateless; runs on the caller's thread.
    class ConfigRequests
      TYPES = Configs::Resource::TYPES
      # Most time that is waited until a change of a topic is visible. Not seeing it is no error: brokers may describe a value in
      # a form that isn't foreseen.
      VISIBLE_MS = 5_000
      private_constant :TYPES, :VISIBLE_MS

      # @param session [Session]
      def initialize(session)
        @session = session
      end

      # @param resources [Array<Configs::Resource>]
      # @return [Array<Configs::Resource>]
      def describe(resources)
        check(resources) { |_resource| [] }
        found = {}
        each_request(resources) { |rows| errors_of(:describe_configs, rows) { |key, entries| found[key] = entries } }
        resources.map do |one|
          configs = found.fetch(key_of(one)).map { |entry| Configs::Config.of(entry) }
          Configs::Resource.new(type: one.type, name: one.name, configs: configs.freeze)
        end
      end

      # @param names [Array<String>]
      # @return [Hash{String => Hash{String => String, nil}}]
      def of_topics(names)
        names = Arguments.names("topic", names)
        return {} if names.empty?

        topics = names.map { |name| Configs::Resource.new(type: :topic, name: name) }
        describe(topics).to_h { |topic| [topic.name, topic.configs.to_h { |config| [config.name, config.value] }] }
      end

      # @param resources [Array<Configs::Resource>]
      # @return [Array<Configs::Resource>]
      def alter(resources, validate_only:)
        check(resources, &:problems)
        each_request(resources) { |rows| errors_of(:alter_configs, rows, extra: [validate_only]) }
        wait_until_visible(resources.select { |resource| resource.type == :topic }) unless validate_only
        resources
      end

      private

      def wait_until_visible(topics)
        return if topics.empty?

        limit = [@session.timeout_ms, VISIBLE_MS].min
        session = @session.with(timeout_ms: limit, visible_ms: limit)
        session.wait_until_visible("settings") { ConfigRequests.new(session).visible?(topics) }
      rescue WaitTimeoutError
        nil # the change is made
      end

      protected

      # @param topics [Array<Configs::Resource>] that were changed
      # @return [Boolean] true also where this user may not see it
      def visible?(topics)
        describe(topics).zip(topics).all? { |described, changed| ConfigVisibility.visible?(described, changed) }
      rescue KafkaError => error
        error.code != :unknown_topic_or_part # a broker that hasn't heard of a new topic yet
      end

      private

      def check(resources)
        problems = resources.flat_map { |resource| resource.is_a?(Configs::Resource) ? yield(resource) : [no_resource(resource)] }
        problems += twice(resources)
        problems << Problem.new(nil, "no resource is given") if resources.empty?
        raise InvalidRequestError, problems unless problems.empty?
      end

      def no_resource(value)
        Problem.new(value.inspect, "is no Penstock::Admin::Configs::Resource", "Use Resource.new(type: :topic, name: \"…\").")
      end

      def twice(resources)
        resources.grep(Configs::Resource).map(&:to_s).tally.select { |_name, count| count > 1 }
          .map { |name, count| Problem.new(name, "is given #{count} times") }
      end

      # A request may name one broker, which answers it itself.
      def each_request(resources)
        brokers, others = resources.partition { |resource| resource.type == :broker }
        requests = [others, *brokers.each_slice(1)].reject(&:empty?)
        errors = requests.reduce({}) do |all, one|
          all.merge(yield(one.to_h { |resource| [key_of(resource), [*key_of(resource), operations_of(resource)]] }))
        rescue KafkaError => error
          raise error unless one.first.type == :broker && error.code == :timed_out

          all.merge(key_of(one.first) => silent(one.first, error))
        end
        Failures.raise_any(errors)
      end

      # Only the named broker could answer. It is down, or there is none with this id.
      def silent(broker, error)
        ids = @session.call(:metadata, nil)[:brokers].map(&:first).sort
        Native.error_for(error.number, broker.to_s, "no answer from it within #{@session.timeout_ms} ms; the cluster now has " \
          "#{(ids.size == 1) ? "broker" : "brokers"} #{ids.join(", ")}")
      end

      def errors_of(name, rows, extra: [])
        @session.settle(name, rows, extra: extra) do |type, resource, number, message, entries|
          yield [type, resource], entries if block_given?
          [[type, resource], number, "#{TYPES.key(type)} #{resource}", message]
        end
      end

      def key_of(resource) = [TYPES.fetch(resource.type), resource.name]

      def operations_of(resource)
        resource.operations.map { |operation, *rest| [Native::Admin::CONFIG_OPERATIONS.fetch(operation), *rest] }
      end
    end
  end
end
