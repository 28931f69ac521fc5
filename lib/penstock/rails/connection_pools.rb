# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module OnRails
    # Active Record's connection pools, as far as Penstock needs them. Stateless.
    module ConnectionPools
      # Hooks run on a thread of their own.
      HOOKS = 1
      private_constant :HOOKS

      class << self
        # @param application [Application]
        # @return [Array<Problem>] pools that are smaller than the number of calls that may run at once
        def too_small(application)
          return [] unless active_record?
          needed = calls_at_once(application)
          list.select { |pool| pool.size && pool.size < needed }.map { |pool| problem(pool, needed, application) }
        end

        # @param application [Application]
        # @return [Integer] calls of user code that may run at once in a process
        def calls_at_once(application)
          kinds = application.routes.topics.select(&:active?).map { |topic| topic.features[:run_on] }
          threads = kinds.any?(&:threads?) ? application.config.concurrency : 0
          threads + kinds.select(&:fibers?).sum(&:most) + HOOKS
        end

        # Closes the connections of all pools, so that a process that is forked now shares none. They are opened again when they
        # are needed.
        # @return [void]
        def clear
          ::ActiveRecord::Base.connection_handler.clear_all_connections!(:all) if active_record?
        end

        private

        # Active Record may be part of the bundle without being loaded.
        def active_record? = defined?(::ActiveRecord::Base) && ::ActiveRecord::Base.respond_to?(:connection_handler)

        def list = ::ActiveRecord::Base.connection_handler.connection_pool_list(:all)

        def problem(pool, needed, application)
          name = pool.db_config.name
          Problem.new("config/database.yml, #{name}", "its pool has #{pool.size} connections, but #{needed} calls may run at " \
            "once (#{parts(application)}): some would wait for a connection, and fail after checkout_timeout",
            "Set #{setting(pool.db_config, needed)}, or lower config.concurrency")
        end

        # Rails 8.1 has `max_connections`, still reads `pool`, and refuses both with different values.
        def setting(config, needed)
          written = config.configuration_hash
          return "pool: #{needed}" unless config.respond_to?(:max_connections)
          return "max_connections: #{needed}" unless written.key?(:pool)
          written.key?(:max_connections) ? "max_connections: #{needed} and remove pool" : "pool: #{needed}"
        end

        def parts(application)
          fibers = calls_at_once(application) - HOOKS - application.config.concurrency
          ["concurrency #{application.config.concurrency}", "one for hooks", ("fibers" if fibers.positive?)].compact.join(", ")
        end
      end
    end
  end
end
