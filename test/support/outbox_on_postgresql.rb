# frozen_string_literal: true

require_relative "outbox"
require_relative "postgres_server"

module Penstock
  module TestSupport
    # Gives a test class a PostgreSQL of its own, to which Active Record is connected; without one its tests are skipped.
    module OutboxOnPostgreSQL
      OBSTACLE = PostgresServer.obstacle

      # Started before the first and stopped after the last test of a class.
      module Server
        attr_reader :server

        def before_all
          return if OBSTACLE

          @server = PostgresServer.new.start
          Outbox.connect(**@server.options)
        end

        def after_all
          return unless @server

          Outbox.disconnect
          @server.stop
        end
      end

      def self.included(base)
        base.extend(Server)
        base.leaks_checked_per_class("the pool's connections stay open between tests")
      end

      def setup
        skip(OBSTACLE) if OBSTACLE
        super
      end
    end
  end
end
