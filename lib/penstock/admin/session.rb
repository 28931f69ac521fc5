# frozen_string_literal: true

require_relative "../deadline"
require_relative "../doubling"
require_relative "../errors"
require_relative "../native/kafka_error"
require_relative "connection"

module Penstock
  class Admin
    # Sends the requests of the commands over a connection, each within the same time limit. Errors that may pass by themselves
    # (a coordinator moves, a leader is being elected) are retried until then. Any thread may use it.
    #
    # The native client sends what concerns partitions to the leaders that it knows, and never looks for others: it doesn't
    # refresh its metadata when a broker answers that it is no leader, or has died. So metadata is requested here before a retry.
    class Session
      # Default wait between two checks for something that isn't visible yet, and between tries.
      PAUSE_MS = 50
      # A try that begins with less time may time out for that reason alone: then the error is that of the try before.
      LITTLE_MS = 1_000
      # Errors that may pass by themselves: no coordinator or leader yet, or a leader and this client that know of each other's
      # election at different times. All others are raised at once.
      PASSING = %i[
        not_coordinator coordinator_not_available coordinator_load_in_progress not_leader_for_partition
        leader_not_available unknown_leader_epoch fenced_leader_epoch offset_not_available unstable_offset_commit
      ].freeze
      # Those of a leader that is no longer one, or isn't known yet.
      MOVED = %i[not_leader_for_partition leader_not_available unknown_leader_epoch fenced_leader_epoch].freeze
      # Errors without an answer.
      UNANSWERED = %i[timed_out transport].freeze
      # Requests that change nothing and go to leaders. One that has died doesn't answer: so the first try gets two thirds of the
      # time, and the second one goes to the leader of then.
      TO_LEADERS = %i[list_offsets].freeze
      # Longest wait between two requests of metadata, which may be large.
      LONG_PAUSE_MS = 1_000
      private_constant :PAUSE_MS, :LITTLE_MS, :PASSING, :MOVED, :UNANSWERED, :TO_LEADERS, :LONG_PAUSE_MS

      # @return [Integer] time limit of a call in ms
      attr_reader :timeout_ms
      # @return [Connection]
      attr_reader :connection

      # @param connection [Connection]
      # @param timeout_ms [Integer] most time for a call
      # @param visible_ms [Integer, nil] most time for a change to become visible; nil: as long as a call
      # @param pause_ms [Integer] between two checks
      # @raise [ArgumentError] a time that is no number of milliseconds
      def initialize(connection, timeout_ms:, visible_ms: nil, pause_ms: nil)
        refuse_times(timeout_ms: timeout_ms, visible_ms: visible_ms || 0, pause_ms: pause_ms || 0)
        @connection = connection
        @timeout_ms = timeout_ms
        @visible_ms = visible_ms
        @pause_ms = pause_ms || PAUSE_MS
      end

      # @return [Session] over the same connection
      def with(timeout_ms: @timeout_ms, visible_ms: @visible_ms, pause_ms: @pause_ms)
        Session.new(@connection, timeout_ms: timeout_ms, visible_ms: visible_ms, pause_ms: pause_ms)
      end

      # Sends one request. An error that may pass by itself is retried until the time limit, then raised.
      #
      # @param name [Symbol] a method of {Native::Admin} whose last argument, before `extra`, is its time limit
      # @yieldparam rows [Array, Hash] for rows that contain errors of their own: an error raised by the block is retried in
      #   the same way
      # @param explain [#call, nil] returns the error that stands for one of the client: it decides about a retry
      # @return [Array, Hash, Object] its rows, or what the block returns
      def call(name, *arguments, extra: [], explain: nil)
        retried(name, Deadline.in(@timeout_ms), explain: explain) do |limit_ms|
          rows = native.public_send(name, *arguments, limit_ms, *extra)
          block_given? ? yield(rows) : rows
        end
      end

      # Sends one request about many items, each of which succeeds or fails by itself. Those whose error may pass are sent again
      # until the time limit; what was done isn't done again.
      #
      # @param name [Symbol] a method of {Native::Admin}
      # @param items [Hash{Object => Object}] by their keys, the rows that the method takes
      # @param before [Array] arguments before the rows
      # @param ordered [Boolean] the answer has the order of the rows and doesn't name them: the block gets the key, too
      # @yieldparam row [Array] of the answer
      # @yieldreturn [(Object, Integer, String, String)] key of the item, error number, what the item is, message or nil
      # @return [Hash{Object => KafkaError, nil}] by key
      def settle(name, items, before: [], extra: [], ordered: false, explain: nil)
        errors, pending, deadline, tries = {}, items, Deadline.in(@timeout_ms), 0
        loop do
          left = deadline.remaining_ms
          rows = retried(name, deadline, tries, explain: explain) do |limit_ms|
            native.public_send(name, *before, pending.values, limit_ms, *extra)
          end
          rows = rows.zip(pending.keys) if ordered
          rows.each do |row|
            key, number, what, message = yield(row)
            error = number.zero? ? nil : named(Native.error_for(number, what, message), what)
            errors[key] = error unless errors[key] && error&.code == :timed_out && left < LITTLE_MS
          end
          pending = items.select { |key, _row| again?(errors[key], name, tries) }
          return errors if pending.empty? || deadline.remaining_ms < @pause_ms

          prepare(errors.values_at(*pending.keys), deadline, tries += 1)
        end
      rescue KafkaError => error
        raise if errors.empty?

        # A later try has failed as a whole: what others did is done. Its items keep their own error where nobody answered.
        pending.each_key { |key| errors[key] = error.dup } unless error.code == :timed_out # Failures extends one of them
        errors
      end

      # Returns the metadata of a topic. Requests all topics: brokers that create topics on demand create a topic that a
      # request names, so a check for a topic that was just deleted would create it again.
      #
      # @param name [String]
      # @return [Hash]
      # @raise [KafkaError] `:unknown_topic_or_part`
      def topic(name)
        topics([name]).fetch(name)
      end

      # The same for several topics, with one request.
      #
      # @param names [Array<String>]
      # @return [Hash{String => Hash}]
      # @raise [KafkaError] of the first that doesn't exist
      def topics(names)
        found = call(:metadata, nil)[:topics]
        names.to_h do |name|
          error = found[name] ? found[name][:error] : Native.error_number(:unknown_topic_or_part)
          raise Native.error_for(error, name) unless error.zero?

          [name, found[name]]
        end
      end

      # @return [Hash{String=>Array<Integer>}] the partitions of all topics that exist
      def partitions
        found = call(:metadata, nil)[:topics].select { |_name, topic| topic[:error].zero? }
        found.transform_values { |topic| topic[:partitions].keys.sort }
      end

      # @param name [Symbol] a method of {Native::Admin} that returns one row per topic
      # @return [void]
      # @raise [KafkaError] the error of the first row that has one
      def change(name, rows)
        call(name, rows).each do |topic, number, message|
          raise Native.error_for(number, topic, message) unless number.zero?
        end
      rescue KafkaError => error
        raise unless error.code == :unsupported_feature && embedded

        yield embedded
      end

      # @return [Boolean] this is an embedded broker
      def embedded? = !embedded.nil?

      # @yieldreturn [Boolean] whether the change is visible
      # @raise [WaitTimeoutError] it wasn't visible within the time limit
      def wait_until_visible(what)
        limit = @visible_ms || @timeout_ms
        deadline = Deadline.in(limit)
        until yield
          raise WaitTimeoutError, "#{what}: not visible after #{limit} ms" if deadline.expired?

          pause
        end
      end

      private

      def refuse_times(times)
        wrong = times.reject { |_name, value| value.is_a?(Integer) && !value.negative? }
        return if wrong.empty?

        texts = wrong.map { |name, value| "#{name}: takes milliseconds, an Integer of at least 0, not #{value.inspect}" }
        raise ArgumentError, texts.join("; ")
      end

      # The last try has little time: where nobody answers it, the error is that of the try before.
      def retried(name, deadline, tries = 0, explain: nil)
        before = nil
        begin
          yield limit_ms(name, deadline, tries)
        rescue KafkaError => error
          error = explain.call(error) if explain
          raise before if before && error.code == :timed_out
          raise named(error) if !again?(error, name, tries) || deadline.remaining_ms < @pause_ms

          before = error unless error.code == :timed_out
          prepare([error], deadline, tries += 1)
          retry
        end
      end

      def limit_ms(name, deadline, tries)
        (tries.zero? && TO_LEADERS.include?(name)) ? deadline.remaining_ms * 2 / 3 : deadline.remaining_ms
      end

      def again?(error, name, tries)
        PASSING.include?(error&.code) || (tries.zero? && TO_LEADERS.include?(name) && UNANSWERED.include?(error&.code))
      end

      # Prepares the next try. If a leader may have moved, the client gets to know the present ones.
      def prepare(errors, deadline, tries)
        return pause unless errors.any? { |error| (MOVED + UNANSWERED).include?(error.code) }

        sleep(deadline.wait_ms(Doubling.wait(@pause_ms, tries - 1, LONG_PAUSE_MS)) / 1000.0) if tries > 1
        native.metadata(nil, deadline.remaining_ms / 2) # the other half is for the next try
      rescue KafkaError
        nil # the next try reports why
      end

      # "Timed out" alone names neither the cluster nor the limit. An error with a reason, as of a refused connection, stays as
      # it is.
      # @param what [String, nil] what the request was about
      def named(error, what = nil)
        bare = error.code == :transport && error.broker_message == Native.error_text(error.number)
        return error unless bare || error.code == :timed_out

        place = [what, @connection.servers].compact.join(": ")
        Native.error_for(error.number, place,
          "no answer within #{@timeout_ms} ms (#{error.broker_message.delete_prefix("#{what}: ")})")
      end

      def pause
        sleep(@pause_ms / 1000.0)
      end

      def native = @connection.native(@timeout_ms)
      def embedded = @connection.embedded(@timeout_ms)
    end
  end
end
