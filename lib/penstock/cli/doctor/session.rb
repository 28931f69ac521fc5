# frozen_string_literal: true

require "securerandom"
require_relative "../../errors"
require_relative "../../instrumentation/connection_diagnosis"
require_relative "../../instrumentation/token_request"
require_relative "../../native/consumer"
require_relative "../../on_demand"
require_relative "retention"
require_relative "step"
Penstock.load_constant :Admin

module Penstock
  module CLI
    module Doctor
      # Checks what only the client library can try: login, metadata, access to topics and groups. Opens one consumer
      # handle, subscribes to nothing and closes the handle again. Runs on the main thread; each call has a time limit.
      class Session
        LIMIT_MS = 8_000
        LOGIN_ERRORS = {
          authentication: "check sasl.username, sasl.password and sasl.mechanisms, or the client certificate",
          ssl: "check the ssl.* settings; see the TLS step above"
        }.freeze

        # `unknown_topic_or_part`, the broker's and the client library's.
        UNKNOWN = [3, -188].freeze
        # Why there is no token, and what to do about it.
        NO_LISTENER = ["the client has no OAuth token: there is no listener that provides one",
          "set config.oauth.token_provider_listener, or \"sasl.oauthbearer.method\": \"oidc\""].freeze
        NO_TOKEN = ["the client has no OAuth token: the listener has set none",
          "call event[:bearer].oauthbearer_set_token in the listener in config.oauth.token_provider_listener"].freeze
        # A request for a topic by its name would otherwise create it, where brokers create topics on demand.
        CREATES_NOTHING = {"allow.auto.create.topics" => "false"}.freeze
        GRANT_GROUP = "grant READ on the group to this user"
        private_constant :CREATES_NOTHING, :GRANT_GROUP, :NO_LISTENER, :NO_TOKEN, :UNKNOWN

        # @param kafka [Hash{String => String}] librdkafka's settings of a consumer
        # @param topics [Array<String>] that the application consumes
        # @param retry_topics [Array<String>] those of them that the application creates when it starts
        # @param delay_topics [Hash{String => Integer}] the same, with the time in ms for which their records wait
        # @param letter_topics [Array<String>] to which it sends failed records: topics of dead letters and retries, which it
        #   creates when it starts
        # @param groups [Hash{String => Array<String>}] its groups and their topics
        # @param token_provider [#on_oauthbearer_token_refresh, nil] provides OAuth tokens
        def initialize(kafka, topics: [], groups: {}, retry_topics: [], letter_topics: [], delay_topics: {}, token_provider: nil)
          @kafka = kafka.merge(CREATES_NOTHING)
          @created = {**letter_topics.to_h { |name| [name, topics.include?(name) ? "" : "dead letter "] },
            **retry_topics.to_h { |name| [name, "retry "] }, **delay_topics.transform_values { "delay " }}
          @delay_topics = delay_topics
          @letter_topics = letter_topics
          @found = []
          @topics = topics
          @groups = groups
          @token_provider = token_provider
          @partitions = 0
        end

        # @return [Integer] number of partitions of the topics that were found
        attr_reader :partitions

        # @return [Array<Step>]
        def steps
          @consumer = Native::Consumer.new(@kafka.merge("group.id" => "penstock-doctor-#{SecureRandom.hex(4)}"))
          login = bring_token || log_in
          return [login] if login.failed?

          [login, *topic_steps, *retention,
            *@groups.map { |group, topics| read_group(group, topics) }]
        ensure
          @consumer&.close(LIMIT_MS)
        end

        private

        # A client that logs in by OAuth needs a token first.
        #
        # @return [Step, nil] the failed step; nil if there is a token or none is needed
        def bring_token
          return (Step.failed(login_name, *NO_LISTENER) if needs_token?) unless @token_provider

          @bearer = Instrumentation::TokenRequest.call(@token_provider, @consumer, LIMIT_MS)
          nil
        rescue WaitTimeoutError => error
          Step.failed(login_name, error.message, "fix the listener in config.oauth.token_provider_listener")
        rescue StandardError, ScriptError => error # the application's code may raise anything
          Step.failed(login_name, "the token provider raised #{error.class}: #{error.message}",
            "fix the listener in config.oauth.token_provider_listener")
        end

        # @return [Boolean] whether the client logs in with tokens that librdkafka doesn't fetch or make itself
        def needs_token?
          mechanism = @kafka["sasl.mechanisms"] || @kafka["sasl.mechanism"]
          login_name == "SASL" && mechanism.to_s.casecmp?("OAUTHBEARER") &&
            !@kafka["sasl.oauthbearer.method"].to_s.casecmp?("oidc") &&
            @kafka["enable.sasl.oauthbearer.unsecure.jwt"].to_s != "true"
        end

        def log_in
          metadata = @consumer.metadata(nil, LIMIT_MS)
          brokers, topics = %i[brokers topics].map { |what| metadata[what].size }
          Step.ok(login_name, "#{brokers} broker#{"s" if brokers != 1}, #{topics} topic#{"s" if topics != 1} seen, " \
            "cluster #{metadata[:cluster_id] || "without an id"}")
        rescue KafkaError, WaitTimeoutError => error
          return Step.failed(login_name, *NO_TOKEN) if needs_token? && !@bearer.answered?

          code, message = reported_errors.first || [nil, error.message]
          http = diagnosis(code, message) if code == :bad_msg
          http ? Step.failed(login_name, http.text, http.hint) : Step.failed(login_name, message, login_hint(code, message))
        end

        # The client library names the reason of a failed login or handshake.
        def login_hint(code, message)
          return LOGIN_ERRORS.fetch(:ssl) if code == :ssl
          trouble = diagnosis(code, message) if code
          return trouble.hint if trouble&.step == login_name && login_name == "SASL"
          LOGIN_ERRORS.fetch(code, "the steps above passed, so the broker answers but not like Kafka: check that " \
            "security.protocol is the one of this listener")
        end

        def diagnosis(code, message)
          Instrumentation::ConnectionDiagnosis.of(KafkaError.build(number: -1, name: code, message: message))
        end

        def login_name
          @kafka["security.protocol"].to_s.downcase.start_with?("sasl") ? "SASL" : "Kafka"
        end

        # Errors that the handle has reported in the meantime, login errors first.
        def reported_errors
          events = []
          while (event = @consumer.poll_event)
            events << [KafkaError.code_of(event[2]), event[3]] if event.first == :error
          end
          events.sort_by { |code, _| LOGIN_ERRORS.key?(code) ? 0 : 1 }
        end

        def topic_steps
          steps = [*@topics, *(@letter_topics - @topics)].map { |topic| [topic, read_topic(topic)] }
          allowed = @found.empty? ? {} : authorized_operations
          steps.map { |topic, step| refused(topic, allowed[topic]) || step }
        end

        # Brokers that can't report the rights of a user report none.
        #
        # @return [Hash{String => Array<Symbol>}] by topic
        def authorized_operations
          Admin.open(@kafka, timeout_ms: LIMIT_MS, token_provider: @token_provider) do |admin|
            admin.describe_topics(*@found, authorized_operations: true)
              .to_h { |one| one.values_at(:topic, :authorized_operations) }
          end
        rescue KafkaError, WaitTimeoutError
          {}
        end

        # @param operations [Array<Symbol>, nil] nil or none: unknown, because a user without any may not see the topic
        # @return [Step, nil]
        def refused(topic, operations)
          missing = needed_rights(topic) - operations.to_a
          return if operations.nil? || operations.empty? || missing.empty?

          names = missing.map { |right| right.to_s.upcase }.join(" and ")
          Step.failed(name_of(topic), "ACL: this user may see it, but has no right to #{names}",
            "grant #{names} on the topic to this user")
        end

        def needed_rights(topic)
          [(:read if @topics.include?(topic)),
            (:write if @letter_topics.include?(topic) || @delay_topics.key?(topic))].compact
        end

        def read_topic(topic)
          found = @consumer.metadata(topic, LIMIT_MS)[:topics][topic]
          error = found && found[:error].to_i
          return missing_topic(topic, error) unless error&.zero?

          @found << topic
          @partitions += found[:partitions].size if @topics.include?(topic)
          Step.ok(name_of(topic), "#{found[:partitions].size} partitions")
        rescue KafkaError, WaitTimeoutError => error
          Step.failed(name_of(topic), error.message, "ask again, or look into the broker's log")
        end

        # @return [Array<Step>]
        def retention
          delays = @delay_topics.slice(*@found)
          return [] if delays.empty?
          Admin.open(@kafka, timeout_ms: LIMIT_MS, token_provider: @token_provider) { |admin| Retention.new(admin, delays).steps }
        end

        def missing_topic(topic, error)
          absent = error.nil? || UNKNOWN.include?(error)
          return Step.failed(name_of(topic), *topic_problem(topic, error)) unless absent && @created.key?(topic)

          Step.ok(name_of(topic), "doesn't exist yet: the application creates it when it starts")
        end

        def name_of(topic) = "#{@created[topic]}topic #{topic}"

        def topic_problem(topic, error)
          case error
          when 29
            rights = [*needed_rights(topic).map(&:upcase), *("CREATE" if @created.key?(topic)), "DESCRIBE"]
            ["ACL: this user may not see it", "grant #{rights[..-2].join(", ")} and DESCRIBE on the topic to this user"]
          when *UNKNOWN, nil then ["doesn't exist", "create it: penstock topics create #{topic}"]
          else ["the broker answers with error #{error}", "look into the broker's log"]
          end
        end

        def read_group(group, topics)
          places = topics.to_h { |topic| [topic, [0]] }
          Admin.open(@kafka, timeout_ms: LIMIT_MS, token_provider: @token_provider) do |admin|
            admin.read_committed_offsets(group, places)
            next Step.ok("group #{group}", "may be read") if joinable?(admin, group)

            Step.failed("group #{group}", "ACL: this user may see it, but has no right to READ", GRANT_GROUP)
          end
        rescue KafkaError, WaitTimeoutError => error
          absent = error.is_a?(KafkaError) && error.code == :unknown_topic_or_part # reported with the topics
          absent ? Step.ok("group #{group}", "may be read") : Step.failed("group #{group}", error.message, group_hint(error))
        end

        # Unknown rights, as of brokers that can't report them, count as enough.
        def joinable?(admin, group)
          rights = admin.group_info(group, authorized_operations: true)[:authorized_operations]
          rights.empty? || rights.include?(:read)
        rescue KafkaError, WaitTimeoutError
          true
        end

        def group_hint(error)
          return GRANT_GROUP if error.is_a?(KafkaError) && error.code == :group_authorization_failed

          "the group's coordinator didn't answer as it should; look into the broker's log"
        end
      end
    end
  end
end
