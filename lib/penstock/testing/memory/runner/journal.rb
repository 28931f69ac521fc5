# frozen_string_literal: true

require_relative "../kafka/cluster"
require_relative "../run"
require_relative "../turn"

module Penstock
  module Testing
    module Memory
      class Runner
        # Records events in the {Run} that is open: calls of user code, letters, commits, produced messages. Events between two
        # runs belong to the next one.
        class Journal < Kafka::Cluster::Observer
          EVENTS = %w[dead_letter_queue.dispatched retry_topic.dispatched breaker.opened error.occurred].freeze
          # An error that leaves a poll loop is a defect, or a setting that the in-memory Kafka can't follow.
          LOOP = "connection.listener.fetch_loop.error"
          private_constant :EVENTS, :LOOP

          # @return [Run] the open one
          attr_reader :run
          # @return [Exception, nil] raised by user code, and no failure of a record: an assertion, an exit, Ctrl-C
          attr_reader :abort

          # @param clock [Clock]
          def initialize(clock)
            super()
            @clock = clock
            @seen = {}
            @owners = Hash.new(0)
            begin_run
          end

          # Opens another run.
          # @return [Run] the one before
          def begin_run
            before, @run = @run, Run.new(@clock.monotonic_ms)
            @abort = nil
            before
          end

          def wants?(name) = EVENTS.include?(name)

          # @param name [String]
          # @param payload [Hash]
          def event(name, payload)
            case name
            when "error.occurred" then failed(payload)
            when "dead_letter_queue.dispatched" then @run.dead_lettered << letter(payload)
            when "breaker.opened" then @run.held << payload[:topic]
            when "retry_topic.dispatched" then @run.sent_to_retry << letter(payload)
            end
          end

          # @param consumer [BaseConsumer]
          # @param action [Symbol]
          # @yield calls user code
          def call(consumer, action)
            call = begin_call(consumer, action)
            yield
          rescue Exception => error # rubocop:disable Lint/RescueException -- it is raised again
            call.error = error
            @abort ||= error unless error.is_a?(StandardError) || error.is_a?(ScriptError) || error.is_a?(Crashed)
            raise
          end

          # A message of user code.
          # @param message [Kit::ProducedMessage]
          def produced(message) = @run.produced << message

          # A message of the test, in a topic that no route reads.
          # @param topic [String]
          # @param hint [String, nil]
          def unread(topic, hint) = @run.unread[topic] = [(@run.unread[topic]&.first || 0) + 1, hint]

          # --- reports of the cluster

          def stored(group, key, _before, commit, _request) = @run.committed[[group.id, *key]] = commit.offset

          def revoked(driver, keys, _lost) = new_owner(driver, keys)

          # @param driver [Kafka::Driver] whose process has died
          def died(driver) = new_owner(driver, driver.assigned)

          private

          # From now on records that were consumed already count as redelivered.
          def new_owner(driver, keys) = keys.each { |key| @owners[[driver.group.id, *key]] += 1 }

          def begin_call(consumer, action)
            messages = (action == :consume) ? consumer.messages.to_a : []
            group = consumer.topic.consumer_group_id
            place = [consumer.messages.metadata.topic, consumer.partition]
            offsets = messages.map(&:offset)
            again = offsets.select { |offset| given_before(group, place, offset) }
            Run::Call.new(group, *place, action, offsets, consumer.attempt, again, nil).tap { |call| @run.calls << call }
          end

          # @return [Boolean] whether an earlier owner of the partition was given the record
          def given_before(group, place, offset)
            owner = @owners[[group, *place]]
            before = @seen[[group, *place, offset]]
            @seen[[group, *place, offset]] = owner
            !before.nil? && before != owner
          end

          def failed(payload)
            error = payload[:error]
            return @abort ||= error if payload[:type] == LOOP
            @run.reported << error unless payload[:caller]
          end

          def letter(payload)
            Run::Letter.new(*payload.values_at(:topic, :partition, :offset, :attempt, :to, :error))
          end
        end
      end
    end
  end
end
