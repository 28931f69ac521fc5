# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../instrumentation/error_throttle"
require_relative "../../native/bearer"
require_relative "refusals"

module Penstock
  module Runtime
    # Passes each event of the driver to the part that handles it. Runs on the poll loop's thread.
    class DriverEvents
      # librdkafka's message for a topic it can't find.
      MISSING = /\ASubscribed topic not available: (?<topic>[^:]+):/
      # Fatal errors of a group whose broker doesn't offer `group.protocol: consumer`.
      REFUSED = %i[unsupported_version unsupported_feature].freeze
      # syslog's level
      DEBUG = 7
      private_constant :MISSING, :REFUSED, :DEBUG

      # @param parts [LoopParts]
      def initialize(parts)
        @parts = parts
        @connection = parts.connection
        @errors = Instrumentation::ErrorThrottle.new
        @bearer = nil
        @refusal = nil
        @login_refused = false
      end

      # @param event [Array] type first, see Native::Consumer#poll_event
      def call(event)
        case event.first
        when :assign then assigned(event)
        when :revoke then @parts.rebalances.handle(event)
        when :committed then @parts.offset_lookup.answered(event)
        when :commit then committed(event)
        when :error then error(*event.drop(1))
        when :stats then statistics(event[1])
        when :token_refresh then token(event[1])
        when :log then log(*event.drop(1))
        when :stray then stray(*event.drop(1))
        end
      end

      # @return [Integer, nil] monotonic ms of the last error that was emitted
      def reported_at = @errors.reported_at

      # @return [Instrumentation::ConnectionDiagnosis, nil] the last failed connection
      def failed_connection = @errors.diagnosis

      # @return [KafkaError, nil] the last refusal of a right since partitions were assigned; librdkafka reports it once, and
      #   repeats the request silently
      attr_reader :refusal

      # @return [Boolean] whether the cluster has refused a right or the login since partitions were assigned. Any thread
      def refused? = !@refusal.nil? || @login_refused

      # @return [Boolean] whether the client waits for a token that no listener has provided
      def tokenless? = @bearer ? !@bearer.answered? : false

      private

      def assigned(event)
        @refusal = nil
        @login_refused = false
        event[1].each { |topic, _partition| @connection.missing.found(topic) }
        @parts.rebalances.handle(event)
      end

      def committed(event)
        _type, token, number, rows = event
        @parts.committer.answered([:commit, token, number, nil, rows])
      end

      def error(number, name, message, fatal)
        error = KafkaError.build(number: number, name: name, message: message, fatal: fatal)
        @refusal = error if Refusals.include?(error)
        @login_refused ||= error.code == :authentication
        return @parts.fenced(error) if error.is_a?(FencedError)
        return @parts.refused(error) if fatal && protocol_refused?(error)
        raise error if fatal
        missing = message[MISSING, :topic] if error.code == :unknown_topic_or_part
        return @connection.missing.report(missing) if missing
        worth = @errors.count(error, @connection.now) or return
        @connection.emit("error.occurred", {type: "librdkafka.error", error: worth.error, client: @connection.driver.name,
          repeated: worth.count})
      end

      def protocol_refused?(error) = REFUSED.include?(error.code) && @connection.group.consumer_protocol?

      # The statistics are parsed once, on the thread of the listeners and not here.
      def statistics(json)
        group = @connection.group
        decorated = nil
        statistics = -> { decorated ||= @connection.decorate(json) { |read| @parts.lag.call(read) } }
        @parts.insights.receive(statistics)
        @connection.emit("statistics.emitted", -> {
          {statistics: statistics.call, subscription_group_id: group.id,
           consumer_group_id: group.consumer_group.id, group_id: group.consumer_group.id}
        })
      end

      # A listener fetches the token on the reporter's thread. If there is no listener, the client gets an error at once instead
      # of waiting for ever.
      def token(_config)
        @bearer = Native::Bearer.new(@connection.driver)
        asked = @connection.emit("oauthbearer.token_refresh", {bearer: @bearer})
        @bearer.oauthbearer_set_token_failure("no listener of oauthbearer.token_refresh provides a token") unless asked
      end

      def log(level, facility, message)
        worth = @errors.line(level, facility, message, @connection.now) or return
        worth = DEBUG if Refusals.line?(facility, message)
        @connection.log(worth, "#{@connection.driver.name} #{facility}: #{message}")
      end

      # A record that arrives outside of its lane shows a defect in the driver. Its lane has missed it, so the source is moved
      # back.
      def stray(topic, partition)
        lane = @connection.lane([topic, partition]) or return
        error = InternalError.new("a record of #{topic}/#{partition} came outside of its lane")
        @connection.emit("error.occurred", {type: "connection.client.poll.error", error: error})
        offset = lane.takes.next_offset
        @connection.driver.seek(lane.assignment.source, offset) if offset
      end
    end
  end
end
