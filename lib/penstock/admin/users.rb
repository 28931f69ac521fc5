# frozen_string_literal: true

require_relative "../native/admin"
require_relative "../on_demand"
require_relative "arguments"
require_relative "failures"
Penstock.load_constant :InvalidRequestError

module Penstock
  class Admin
    # Users that log in with SCRAM: their names and how their passwords are stored, never the passwords.
    #
    #     Penstock::Admin::Users.set_password("billing", ENV.fetch("BILLING_PASSWORD"))
    #     Penstock::Admin::Users.describe # => {"billing" => {"SCRAM-SHA-512" => 8192}}
    #
    # Called on the module, the commands go to the application's cluster; on an {Admin}, `describe_users`, `set_password` and
    # `delete_user` do the same.
    module Users
      # Names of librdkafka's numbers.
      MECHANISMS = {"SCRAM-SHA-256" => 1, "SCRAM-SHA-512" => 2}.freeze
      # How often brokers let a password be hashed.
      ITERATIONS = (4_096..16_384)
      # Of a new password.
      DEFAULTS = {mechanism: "SCRAM-SHA-512", iterations: 8_192}.freeze

      class << self
        # @param names [Array<String>] none: all
        # @return [Hash{String=>Hash{String=>Integer}}] see {Admin#describe_users}
        def describe(*names) = Admin.describe_users(*names)

        # Creates a user, or replaces the password. See {Admin#set_password}.
        # @return [void]
        def set_password(name, password, **options) = Admin.set_password(name, password, **options)

        # See {Admin#delete_user}.
        # @return [void]
        def delete(name, **options) = Admin.delete_user(name, **options)
      end

      # The requests. Stateless; runs on the caller's thread.
      class Requests
        # @param session [Session]
        def initialize(session)
          @session = session
        end

        # @param names [Array<String>]
        # @return [Hash{String => Hash{String => Integer}}]
        def describe(names)
          found = {}
          rows = @session.call(:describe_users, Arguments.names("user", names))
          errors = rows.to_h do |name, number, message, credentials|
            found[name] = credentials.to_h { |mechanism, iterations| [MECHANISMS.key(mechanism) || "unknown", iterations] }
            [name, number.zero? ? nil : Native.error_for(number, "user #{name}", message)]
          end
          Failures.raise_any(errors)
          found
        end

        def set_password(name, password, mechanism:, iterations:)
          problems = [name_problem(name), mechanism_problem(mechanism), iterations_problem(iterations),
            password_problem(name, password)]
          change(problems, name, [name.to_s, MECHANISMS[mechanism], iterations, password, nil])
        end

        # @param mechanism [String, nil] nil: all that the user has
        def delete(name, mechanism: nil)
          problems = [name_problem(name), (mechanism_problem(mechanism) if mechanism)]
          raise InvalidRequestError, problems.compact if problems.any?

          remove(name, mechanism ? [mechanism] : describe([name]).fetch(name.to_s).keys)
        end

        private

        def change(problems, name, row)
          raise InvalidRequestError, problems.compact if problems.any?

          @session.call(:alter_users, [row]).each do |_user, number, message|
            raise Native.error_for(number, "user #{name}", message) unless number.zero?
          end
        end

        # Brokers refuse a request that changes a user twice.
        def remove(name, mechanisms)
          deleted = []
          mechanisms.each do |mechanism|
            change([], name, [name.to_s, MECHANISMS.fetch(mechanism), nil])
            deleted << mechanism
          end
        rescue KafkaError => error
          raise if deleted.empty?

          left = (mechanisms - deleted).join(", ")
          raise Native.error_for(error.number, "user #{name}: #{deleted.join(", ")} is deleted; #{left}",
            error.broker_message.delete_prefix("user #{name}: "))
        end

        def name_problem(name)
          return Problem.new("user", "#{name.inspect} contains a zero byte") if name.to_s.b.include?("\0")

          Problem.new("user", "has no name") if name.to_s.strip.empty?
        end

        def mechanism_problem(mechanism)
          return if MECHANISMS.key?(mechanism)

          Problem.new("mechanism #{mechanism.inspect}", "is none of #{MECHANISMS.keys.join(", ")}")
        end

        def iterations_problem(iterations)
          return if iterations.is_a?(Integer) && ITERATIONS.cover?(iterations)

          Problem.new("iterations #{iterations.inspect}", "brokers take #{ITERATIONS.begin} to #{ITERATIONS.end}")
        end

        def password_problem(name, password)
          Problem.new("user #{name}", "the password is empty, or no String") unless password.is_a?(String) && !password.empty?
        end
      end
      private_constant :Requests

      # @return [Requests]
      # @api private
      def self.requests(session) = Requests.new(session)
    end
  end
end
