# frozen_string_literal: true

require_relative "../compat/karafka/topic"
require_relative "../serialization/deserializers"
require_relative "topic_pattern"

module Penstock
  module Routing
    # A topic of a consumer group with all values of its route. A frozen value.
    #
    # There are three kinds: an ordinary topic; a pattern ({#pattern?}), which stands for topics that may not exist yet;
    # and a topic that was discovered by a pattern ({#discovered?}), which copies the pattern's values.
    class Topic
      include Compat::Karafka::Topic

      # librdkafka's other names for the two positions.
      RESETS = {"smallest" => "earliest", "beginning" => "earliest", "largest" => "latest", "end" => "latest"}.freeze
      # Values whose members are shown one by one in {#to_h}.
      SHOWN = [Serialization::Deserializers].freeze
      # The name under which a class was loaded; its own method `name` may return another one.
      CONSTANT_NAME = Module.instance_method(:name)
      CONSTANT = /\A[[:upper:]]\w*(::[[:upper:]]\w*)*\z/
      private_constant :RESETS, :SHOWN, :CONSTANT_NAME, :CONSTANT

      # @return [String] name on the cluster; for a pattern, its own name
      attr_reader :name
      # @return [TopicPattern, nil]
      attr_reader :pattern
      # @return [String]
      attr_reader :consumer_group_id
      # @return [Config::KafkaHash] librdkafka's effective properties
      attr_reader :kafka
      # @return [Hash{Symbol => Object}] the value of every verb of the DSL
      attr_reader :features
      # @return [String, nil] file and line of the route
      attr_reader :location
      # @return [SubscriptionGroup]
      attr_reader :subscription_group

      def initialize(name:, consumer_group_id:, kafka:, features:, pattern: nil, location: nil)
        @name = name.dup.freeze
        @pattern = pattern
        @consumer_group_id = consumer_group_id
        @kafka = kafka
        @features = features.freeze
        @location = location
        @discovered = false
      end

      # @return [String] "<consumer group>_<topic>"
      def id = "#{@consumer_group_id}_#{@name}"

      # @return [String]
      def subscription_group_id = @subscription_group.id

      # @return [ConsumerGroup]
      def consumer_group = @subscription_group.consumer_group
      alias_method :group, :consumer_group

      # @return [Class, nil] with `consumer_persistence false` looked up again by name: the code may have been reloaded. For its
      #   name alone use `features[:consumer]`, which never loads code
      # @raise [NameError] with `consumer_persistence false`: there is no such class any more
      def consumer = current(@features[:consumer])

      # @param object [Object] an instance of a class of the application
      # @return [Boolean] whether its class was loaded again since it was created; always false with `consumer_persistence`
      # @raise (see #consumer)
      def outdated?(object) = !consumer_persistence && !object.instance_of?(current(object.class))

      # @return [Boolean] whether it is subscribed to
      def active? = @features[:active]

      # @return [Integer] maximum number of messages per call of `consume`
      def max_messages = @features[:max_messages]

      # @return [Integer] ms
      def max_wait_time = @features[:max_wait_time]

      # @return [String] "earliest" or "latest"; "error" if `auto.offset.reset` has this value, which overrides the verb
      def initial_offset
        own = @kafka[:"auto.offset.reset"]
        own ? RESETS.fetch(own.to_s, own.to_s) : @features[:initial_offset]
      end

      # @return [Boolean]
      def consumer_persistence = @features[:consumer_persistence]

      # @return [Serialization::Deserializers]
      def deserializers = @features[:deserializers]

      # @return [Boolean]
      def manual_offset_management? = @features[:manual_offset_management]

      # @return [Boolean] whether `eofed` is called
      def eofed? = @features[:eofed]

      # @return [Pause] ms
      def pause = @features[:pause]

      # @return [Integer, nil] maximum number of workers on this topic
      def workers_max = @features[:workers]&.max

      # @return [Symbol, Array<Integer>, nil] :all or the partitions read without joining the group; nil: the group is
      #   joined
      def assigned = @features[:assign]

      # @return [Boolean]
      def direct? = !assigned.nil?

      # @return [Declaration, nil] its desired state on the cluster
      def declaration = @features[:config]

      # @return [Boolean] whether it stands for all topics that match a pattern
      def pattern? = !@pattern.nil? && !@discovered

      # @return [Boolean] whether it was found by a pattern
      def discovered? = @discovered

      # The topic that matched a pattern, under its real name.
      #
      # @param name [String] name on the cluster
      # @return [Topic] a copy of this one
      def discover(name)
        dup.tap { |copy| copy.become(name) }.freeze
      end

      # @param index [Integer, nil] number of a swarm's node
      # @return [Topic] a copy that assigns this node's partitions, not yet part of a group
      # @api private
      def on_node(index)
        partitions = @features[:swarm]&.partitions(index)
        dup.tap { |copy| copy.assign(partitions) if partitions }
      end

      # A topic with the same route.
      #
      # @param name [String]
      # @param features [Hash{Symbol => Object}] values that are its own
      # @return [Topic] not yet part of a group
      # @api private
      def sibling(name, features)
        self.class.new(name: name, consumer_group_id: @consumer_group_id, kafka: @kafka, location: @location,
          features: @features.merge(features).freeze)
      end

      # @param subscription_group [SubscriptionGroup] the group it becomes part of
      # @return [Topic] frozen
      # @api private
      def join(subscription_group)
        @subscription_group = subscription_group
        freeze
      end

      # @return [Hash{Symbol => Object}] everything, secrets masked
      def to_h
        values = @features.transform_values { |value| (value.is_a?(Struct) || SHOWN.include?(value.class)) ? value.to_h : value }
        {id: id, name: @name, pattern: @pattern&.source, consumer_group_id: @consumer_group_id,
         subscription_group_id: @subscription_group&.id, **values, kafka: @kafka.masked}
      end

      def inspect
        "#<#{self.class} #{@name} of #{@consumer_group_id}>"
      end

      protected

      def become(name)
        @name = name.dup.freeze
        @discovered = true
      end

      def assign(partitions)
        @features = @features.merge(assign: partitions).freeze
      end

      private

      # A class that was removed or renamed must not run as it was at boot: its calls fail until it is back. Each name is looked
      # up in its own module only, where it may be private.
      def current(type)
        return type if consumer_persistence || type.nil?
        path = CONSTANT_NAME.bind_call(type)
        return type unless path && CONSTANT.match?(path)
        path.split("::").inject(Object) { |scope, name| constant(scope, name, path) }
      end

      def constant(scope, name, path)
        scope.const_get(name, false)
      rescue NameError => error
        raise unless error.instance_of?(NameError) && error.name == name.to_sym && scope.equal?(error.receiver)
        raise NameError.new("uninitialized constant #{path}, which topic #{@name} used before its code was reloaded. Restore " \
          "the class, or change the route and restart the process", name.to_sym, receiver: scope)
      end
    end
  end
end
