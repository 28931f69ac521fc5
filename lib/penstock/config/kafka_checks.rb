# frozen_string_literal: true

require_relative "../errors"
require_relative "../nearest"
require_relative "../native/conf"
require_relative "kafka_hash"
require_relative "properties"
require_relative "property_values"

module Penstock
  module Config
    # Finds problems in librdkafka's properties as the user wrote them. First come the checks for which Penstock knows
    # the reason better than librdkafka; then librdkafka itself checks the rest. Nothing connects.
    class KafkaChecks
      # Properties that Penstock sets, with the reason.
      OURS = {
        "enable.auto.commit" => "Penstock commits offsets, so that none is committed before its record is complete",
        "enable.auto.offset.store" => "Penstock stores offsets, so that none is committed before its record is complete"
      }.freeze

      REFUSED = {
        "statistics.unassigned.include" => "isn't needed: statistics contain only assigned partitions",
        "rebalance.pause.partitions" => "is set by Penstock",
        "statistics.assigned.only" => "is set by Penstock",
        "group.id" => "is set by Penstock: it is the name of the route's consumer_group, or config.group_id",
        "log.queue" => "is set by Penstock",
        "enabled_events" => "is set by Penstock"
      }.freeze

      # Properties that a user of Java's client knows, with what Penstock has instead.
      ELSEWHERE = {
        "max.poll.records" => ["has no effect on members of consumer groups: in librdkafka it limits share consumers",
          "Remove it, and set max_messages: in a route, or config.max_messages for all"]
      }.freeze

      # Hints for keys that librdkafka can't load: its error gives no reason, not even that of a wrong password.
      LOADING = {
        "ssl.key.location" => "Check that the file has a private key in PEM, and that ssl.key.password is its password",
        "ssl.key.pem" => "Check that it is a private key in PEM, and that ssl.key.password is its password",
        "ssl.keystore.location" => "Check that the file is a PKCS#12 keystore, and that ssl.keystore.password is its password"
      }.freeze

      # Set by the broker under `group.protocol: consumer`.
      CLASSIC_ONLY = %w[partition.assignment.strategy session.timeout.ms heartbeat.interval.ms group.protocol.type].freeze

      # Those that usually come from an environment variable, and without which another one means nothing.
      CREDENTIALS = %w[sasl.username sasl.password sasl.oauthbearer.client.id sasl.oauthbearer.client.secret].freeze

      LAST_PORT = 65_535

      # host, host:port, [IPv6]:port, PROTOCOL://host:port
      ADDRESS = %r{\A(?:(?:plaintext|ssl|sasl_plaintext|sasl_ssl)://)?(?:\[[^\]\s]+\]|[^:/\s\[\]]+)(?::(?<port>\d{1,5}))?\z}i
      private_constant :ADDRESS, :CREDENTIALS, :ELSEWHERE, :LAST_PORT, :LOADING

      VALUES = [String, Symbol, Integer, Float, TrueClass, FalseClass].freeze

      # @param hash [Hash] properties as the user wrote them
      # @param servers [Boolean] whether a missing `bootstrap.servers` is a problem
      # @yieldparam name [Object] a property
      # @yieldreturn [String] the place for problems with it
      def initialize(hash, servers: true, &place)
        @servers = servers
        @hash = hash
        @place = place
        @problems = []
        @settled = []
      end

      # @param kind [:consumer, :producer, :admin]
      # @param map [Hash{String => String}] properties with which the client would be opened
      # @return [Array<Problem>]
      def problems(kind, map)
        @hash.each { |name, value| look_at(name, value) }
        servers if @servers
        mechanism
        librdkafka(kind, map)
        @problems
      end

      private

      def look_at(name, value)
        plain = name.to_s
        return string_key(name) unless name.is_a?(Symbol)
        return add(plain, REFUSED[plain], "Remove it") if REFUSED.key?(plain)
        return add(plain, *ELSEWHERE[plain]) if ELSEWHERE.key?(plain)
        return unknown(plain) unless Properties.known?(plain)
        return value_of(plain, value) unless VALUES.any? { |type| type === value }

        ours(plain, value) || protocol(plain) || number(plain, value) || file(plain, value) ||
          (addresses(plain, value.to_s) if servers?(plain))
      end

      def string_key(name)
        settle(name)
        problem(name, "the key #{name.inspect} is a #{name.class}, keys must be Symbols", "Write \"#{name}\": …")
      end

      def unknown(name)
        add(name, "is not a property of librdkafka", Nearest.hint(name, Properties.names))
      end

      def value_of(name, value)
        return missing(name) if value.nil?

        way_out = value.is_a?(Array) ? "Join the entries by commas" : "Remove it to use the default"
        add(name, "must be a String, a number or true or false, is a #{value.class}", way_out)
      end

      def missing(name)
        way_out = "Remove it to use the default"
        way_out = "Set the environment variable" if CREDENTIALS.include?(name)
        way_out = 'Write "host:port"' if servers?(name)
        add(name, "is nil, as from an environment variable that isn't set", way_out)
      end

      def ours(name, value)
        add(name, "can't be #{value}: #{OURS[name]}", "Remove it") if OURS.key?(name) && value.to_s != "false"
      end

      def protocol(name)
        return unless CLASSIC_ONLY.include?(name) && @hash[:"group.protocol"].to_s.casecmp?("consumer")

        add(name, "can't be set with group.protocol consumer (KIP-848): the broker sets it",
          "Remove it, or set it on the broker for the group")
      end

      def number(name, value)
        wrong = PropertyValues.number(name, value) and add(name, *wrong)
      end

      def mechanism
        wrong = PropertyValues.mechanism(@hash) or return

        settle("sasl.mechanism")
        add(*wrong)
      end

      def file(name, value)
        path = value.to_s
        return if !Properties::FILES.include?(name) || path == "probe" || File.exist?(path)

        add(name, "names the file #{path}, which doesn't exist#{" in #{Dir.pwd}" unless path.start_with?("/")}",
          "Give a path that this process can read")
      end

      def addresses(name, text)
        return add(name, "is empty", 'Write "host:port"') if text.strip.empty?

        wrong = text.split(",").map(&:strip).reject { |address| address?(address) }
        return if wrong.empty?

        add(name, "has #{wrong.map(&:inspect).join(", ")}, which isn't an address of a broker",
          'Write "host:port", several separated by commas, with a port up to 65535')
      end

      def address?(text)
        parts = ADDRESS.match(text)
        !parts.nil? && (parts[:port].nil? || parts[:port].to_i.between?(1, LAST_PORT))
      end

      def servers
        names = @hash.keys.map(&:to_s)
        return if names.any? { |name| servers?(name) } || misspelt?(names)

        inherit = ", or `inherit: true` to add these properties to the application's" if
          @place.call("bootstrap.servers").start_with?("routes")
        add("bootstrap.servers", "is missing", "For example \"localhost:9092\"#{inherit}")
      end

      def servers?(name) = Properties.canonical(name) == Properties.canonical("bootstrap.servers")

      # A misspelt name was already reported.
      def misspelt?(names)
        names.any? { |name| !Properties.known?(name) && Nearest.to(name, Properties.names) == "bootstrap.servers" }
      end

      # Consequences of a problem that was already reported aren't reported.
      def librdkafka(kind, map)
        Native::Conf.validate(map.except(*@settled), kind).each do |name, message|
          next if @settled.any? { |settled| message.include?(settled) }

          text = "#{name ? "is refused by librdkafka" : "librdkafka refuses it"}: #{tidy(without_secret(name, message))}"
          add(name, text, Properties.allowed(name, message) || LOADING[name])
        end
      end

      # librdkafka's texts end with a line break, and have names between backquotes without a space.
      def tidy(message) = message.gsub(/`([\w.]+)`/, ' \1 ').squeeze(" ").strip

      def without_secret(name, message)
        value = @hash[name&.to_sym].to_s
        (name && KafkaHash.secret?(name) && !value.empty?) ? message.gsub(value, KafkaHash::MASK) : message
      end

      def add(name, message, hint = nil)
        settle(name)
        problem(name, [name, message].compact.join(" "), hint)
      end

      def settle(name) = @settled << name.to_s

      def problem(name, message, hint) = @problems << Problem.new(@place.call(name), message, hint)
    end
  end
end
