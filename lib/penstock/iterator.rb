# frozen_string_literal: true

module Penstock; class Iterator; end; end # its parts open it, too: see ON_DEMAND
require_relative "config/kafka_map"
require_relative "errors"
require_relative "iterator/iteration"
require_relative "iterator/selection"
require_relative "nearest"
require_relative "printable"
require_relative "reading/connection"

module Penstock
  # Reads records of topics, without a consumer, a group or a server: in a console, a rake task, a script.
  #
  #     Penstock::Iterator.new("orders" => -100, "clicks" => Time.now - 3_600).each { |message| puts message.payload }
  #
  # Reads to the end that each partition has when it begins, then ends. The order is that of offsets within a partition;
  # partitions take turns. It joins no group, and commits only what is marked.
  #
  # Enumerable: `first(10)`, `lazy`, … see the messages only. {#each} connects, and disconnects when it ends, also by `break` or
  # an error; called again, it reads from the beginning. The other methods are for the block of the running {#each}, on its
  # thread; only {#stop} may be called by other threads.
  class Iterator
    include Enumerable

    # Time limit of each request, and of waiting for a partition.
    TIMEOUT_MS = 30_000
    # Longest wait for records at once.
    WAIT_MS = 200
    OPTIONS = %i[settings until follow yield_nil max_wait_time max_messages timeout_ms token_provider].freeze
    # Those with a number.
    NUMBERS = %i[max_wait_time max_messages timeout_ms].freeze
    private_constant :OPTIONS, :NUMBERS

    class << self
      # A callable that returns what the application offers: `kafka`, `token_provider`, and `deserializers`, by topic; nil
      # without an application. The application sets it.
      # @api private
      attr_accessor :surroundings
    end

    # @param topics [String, Symbol, Array<String, Symbol>, Hash] names of topics; or a Hash from each name to where it is read:
    #   an offset, `-N` (the last N records of each partition), a Range of offsets or Times, a Time, `:earliest`, `:latest`,
    #   `true` (where the group of `settings` has committed, else by `auto.offset.reset`, which is the beginning), or a Hash from
    #   partitions to these
    # @param options [Hash]
    #   * `settings:` librdkafka's properties, in addition to those of the application: another cluster
    #     (`"bootstrap.servers": …`), `"isolation.level": "read_uncommitted"`, a `"group.id"` for marks
    #   * `until:` `:end` (default: the end at the beginning of the iteration) or a Time: ends before the first record that isn't
    #     older
    #   * `follow:` true continues with new records until {#stop}, or `break`
    #   * `yield_nil:` true calls the block with nil when nothing has arrived for `max_wait_time:` ms (200)
    #   * `max_messages:` ends after this number of messages
    #   * `timeout_ms:` how long to wait for a broker or a partition (30_000)
    #   * `token_provider:` provides OAuth tokens, instead of the application's
    # @raise [ArgumentError] lists everything that can't be read
    # @raise [ConfigurationError] there is neither an application nor `"bootstrap.servers"`
    def initialize(topics = nil, **options)
      bare, options = options.partition { |name, _value| name.is_a?(String) }.map(&:to_h)
      twice_named(topics, bare) unless topics.nil? || bare.empty?
      check(options)
      @options = options
      @settings = options.fetch(:settings, {}).to_h { |name, value| [name.to_s, value] }
      @follow = options[:follow] || @settings["enable.partition.eof"].to_s == "false"
      @selection = selection(bare.empty? ? topics : bare)
      @surroundings = self.class.surroundings&.call.to_h
      @kafka = kafka
      @iteration = nil
    end

    # @yieldparam message [Message, nil] nil only with `yield_nil: true`
    # @yieldparam iterator [Iterator] itself, if the block takes two arguments
    # @return [self, Enumerator] an Enumerator without a block
    # @raise [KafkaError] `:unknown_topic_or_part` with the names of all topics that don't exist, `:unknown_partition`,
    #   `:topic_authorization_failed`, …
    # @raise [WaitTimeoutError] a partition with records sent none within `timeout_ms`; not with `follow: true`
    def each(&block)
      return enum_for(:each) unless block

      outer = @iteration
      begin
        run(@iteration = Iteration.new(block, self, **iteration_options))
      ensure
        @iteration = outer
      end
      self
    end

    # Ends the iteration after the current call of the block. Any thread.
    # @return [void]
    def stop
      @iteration&.stop
      nil
    end

    # Leaves out the rest of a partition.
    # @param topic [String, Symbol]
    # @param partition [Integer]
    # @return [Boolean] whether it was still being read
    def stop_partition(topic, partition) = iteration.stop_partition(topic.to_s, partition)

    # Leaves out the rest of the partition of the current message.
    # @return [Boolean] whether there was a current message
    def stop_current_partition = iteration.stop_current_partition

    # Marks a message, and with it all before it in its partition: its group commits that within seconds, or at the end of the
    # iteration. The next iteration with `true` begins after it. Needs a `"group.id"` in `settings` that no consumer uses.
    #
    # @param message [Message]
    # @return [true]
    # @raise [ArgumentError] there is no group
    def mark_as_consumed(message)
      iteration.marks.add(message)
      true
    end

    # The same, and commits now.
    # @return [true]
    # @raise [KafkaError] the commit was refused: `:unknown_member_id` when the group has members
    def mark_as_consumed!(message)
      mark_as_consumed(message)
      iteration.marks.commit
      true
    end

    # @return [String]
    def inspect = "#<#{self.class} #{@selection.topics.join(", ")}>"

    private

    # Ruby takes Strings without braces as options.
    def twice_named(topics, bare)
      raise ArgumentError, "topics are given twice, as #{Printable.inspect(topics, 80)} and as #{bare.keys.join(", ")}: write " \
        "one Hash in braces"
    end

    def check(options)
      unknown = options.keys - OPTIONS
      return check_values(options) if unknown.empty?

      raise ArgumentError, unknown.map { |name|
        hint = Nearest.hint(name, OPTIONS) || "topics are named by Strings, as in \"#{name}\" => -100"
        "there is no option #{name}: #{hint}"
      }.join("; ")
    end

    def check_values(options)
      problems = [*end_problem(options), *NUMBERS.filter_map { |name| number_problem(name, options[name]) }]
      raise ArgumentError, problems.join("; ") unless problems.empty?
    end

    def end_problem(options)
      stop = options.fetch(:until, :end)
      return "follow: true has no end, so until: can't be used with it" if options[:follow] && stop != :end

      return if stop == :end || Selection.time(stop)

      "until: #{stop.inspect} is neither :end nor a Time; an offset is the end of a Range, as in 0...500"
    end

    def number_problem(name, value)
      return if value.nil? || (value.is_a?(Integer) && value.positive?)

      "#{name}: #{value.inspect} is not a number of at least 1"
    end

    def selection(topics)
      stop = @options.fetch(:until, :end)
      reset = @settings["auto.offset.reset"].to_s
      Selection.new(topics, stop: Selection.time(stop), follow: @follow, committed: @settings.key?("group.id"),
        otherwise: %w[latest largest end].include?(reset) ? :latest : :earliest)
    end

    def kafka
      kafka = (@surroundings[:kafka] || {}).to_h { |name, value| [name.to_s, value] }.merge(@settings)
      return kafka if kafka["bootstrap.servers"]

      raise ConfigurationError, "Penstock::Iterator has no cluster: define an application first, or pass " \
        "settings: {\"bootstrap.servers\": \"…\"}"
    end

    # The share of a partition in the memory is fixed when a client is opened: for many partitions, another one is opened.
    def run(iteration)
      wanted = nil
      connect(Config::KafkaMap::FEW_LANES) do |connection|
        wanted = @selection.wanted(connection.partitions(@selection.topics))
        return iteration.run(connection, wanted) if wanted.size <= Config::KafkaMap::FEW_LANES
      end
      connect(wanted.size) { |connection| iteration.run(connection, wanted) }
    end

    def connect(lanes, &block)
      Reading::Connection.open(Config::KafkaMap.reading(@kafka, lanes: lanes, follow: @follow),
        timeout_ms: @options[:timeout_ms] || TIMEOUT_MS,
        token_provider: @options[:token_provider] || @surroundings[:token_provider] || nil, &block)
    end

    def iteration_options
      {follow: @follow, group: @settings["group.id"], deserializers: @surroundings[:deserializers],
       wait_ms: @options[:max_wait_time] || WAIT_MS, yield_nil: @options[:yield_nil], max_messages: @options[:max_messages]}
    end

    def iteration
      @iteration || raise(ArgumentError, "only the block of a running each can stop partitions and mark messages")
    end
  end

  introduce_iterator(Iterator) if respond_to?(:introduce_iterator)
end
