# frozen_string_literal: true

require_relative "../../../native"
require_relative "classic_group"
require_relative "consumer_protocol_group"
require_relative "log"
require_relative "transactions"

module Penstock
  module Testing
    module Memory
      module Kafka
        # The brokers: topics, groups, and how long requests to them take. One thread; everything happens on the timeline.
        #
        # Commits and assignments are reported to `observer` (see {Observer}).
        class Cluster
          # Receives what a cluster reports; the simulator's checker overrides it.
          class Observer
            # A member passed a commit to its client.
            def commit_sent(driver, rows, assigned) = nil
            # An arranged fault affects a commit.
            def commit_fares(driver, fate) = nil
            # An arranged fault affects a read of committed offsets.
            def read_fares(driver, fate) = nil
            # An offset was stored.
            # @param before [Group::Commit, nil]
            def stored(group, key, before, commit, request) = nil
            # A member's loop has received a revocation.
            def revocation_begins(driver, keys, lost) = nil
            # A member has answered an assignment.
            def taken_over(driver, keys) = nil
            # A member has answered a revocation.
            def revoked(driver, keys, lost) = nil
            # A client is closed, in order, with these partitions.
            def closed(driver, keys) = nil
            # The group expels a member.
            def expelled(driver) = nil
            # A static member that has restarted has joined.
            def came_back(driver) = nil
            # A member reads committed offsets.
            def read(key) = nil
            # The answer to a commit contains errors.
            def refused(driver, rows) = nil
          end

          # @return [Hash{Symbol => Integer}] numbers of the errors named here
          def self.numbers
            @numbers ||= Native.error_numbers.transform_keys { |name| name.downcase.delete_prefix("_").to_sym }.freeze
          end

          # @return [Integer]
          def self.number(name) = numbers.fetch(name)

          attr_reader :timeline, :random, :topics, :groups
          attr_accessor :observer, :metadata_limit, :slowness

          # @return [Transactions]
          def transactions = @transactions ||= Transactions.new(self)

          # @param timeline [Timeline]
          # @param random [Random]
          def initialize(timeline, random)
            @timeline = timeline
            @random = random
            @topics = {}
            @groups = {}
            @observer = Observer.new
            @metadata_limit = 4_096
            @slowness = 1
            @drivers = []
          end

          # @return [Array<Log>]
          def create_topic(name, partitions) = @topics[name] = Array.new(partitions) { Log.new }

          # @param count [Integer] how many partitions the topic gets in addition
          def add_partitions(name, count) = @topics.fetch(name).concat(Array.new(count) { Log.new })

          # @return [Log]
          def log(topic, partition) = @topics.fetch(topic).fetch(partition)

          # @param topics [Array<String>] names, and patterns, which begin with ^
          # @return [Array<Array(String, Integer)>]
          def partitions(topics)
            names(topics).flat_map { |name| @topics.fetch(name, []).each_index.map { |index| [name, index].freeze } }
          end

          # @param subscription [Array<String>] names and patterns
          # @return [Array<String>] the names, and those of existing topics that match
          def names(subscription)
            return subscription if subscription.none? { |name| name.start_with?("^") }
            subscription.flat_map { |name| name.start_with?("^") ? @topics.keys.grep(Regexp.new(name)) : [name] }.uniq
          end

          # @param style [Symbol] :eager, :cooperative or :consumer (KIP-848)
          def create_group(id, style, **options)
            @groups[id] = ((style == :consumer) ? ConsumerProtocolGroup : ClassicGroup).new(self, id, style, **options)
          end

          # Writes a record; clients that wait for it are woken.
          # @return [Record]
          def produce(topic, partition, payload, **options)
            record = log(topic, partition).append(payload, timestamp: @timeline.now, **options)
            changed(topic, partition)
            record
          end

          # A log has changed: clients that fetch from it check again.
          def changed(topic, partition) = @drivers.each { |driver| driver.log_changed(topic, partition) }

          # @return [Integer] ms that a message takes
          def latency = 1 + @random.rand(6 * @slowness)

          def opened(driver) = @drivers << driver
          def gone(driver) = @drivers.delete(driver)
          def inspect = "#<Cluster>"
        end
      end
    end
  end
end
