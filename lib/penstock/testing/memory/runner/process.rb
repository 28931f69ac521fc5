# frozen_string_literal: true

require_relative "../instance"
require_relative "../kafka/direct_driver"
require_relative "host"

module Penstock
  module Testing
    module Memory
      class Runner
        # One life of the application's process, with all its subscription groups. Ends with {#crash}, or when the application
        # stops itself.
        class Process < Instance
          # A connection of the process: a member of its group, or with `assign` only a reader.
          class Connection < Memory::Connection
            # Threads of user code may post requests, too.
            def wake(driver) = @world.here? ? super : @world.from_elsewhere { super }

            private

            def connect(group)
              @world.group(group)
              @driver = driver_class(group).new(@world.cluster, group.consumer_group_id, name: group.id, host: @instance,
                waiter: self, instance_id: static_id(group))
              group.direct? ? @driver.assign(wanted(group)) : @driver.subscribe(group.subscription)
              @driver
            end

            def driver_class(group) = group.direct? ? Kafka::DirectDriver : Kafka::Driver

            def static_id(group) = (@world.properties(group)["group.instance.id"] unless group.consumer_protocol?)

            def wanted(group)
              group.assigned.flat_map do |topic, partitions|
                existing = @world.cluster.partitions([topic])
                (partitions == :all) ? existing : existing.select { |key| partitions.include?(key.last) }
              end
            end
          end

          # @return [Exception, nil] why the application stopped itself
          attr_reader :reason

          # @param world [World]
          # @param journal [Journal]
          # @param groups [Array<Routing::SubscriptionGroup>]
          def initialize(world, journal, groups)
            super(world)
            @aside = []
            @host = Host.new(self, journal, groups.flat_map(&:topics))
            @connections = groups.flat_map { |group| numbered(group) }.map { |group| Connection.new(self, group, @host) }
          end

          # User code raised an error that stops the process.
          # @param error [Exception]
          def stop_because(error)
            @reason ||= error
            stop(@world.application.config.shutdown_timeout) unless stopping?
          end

          # The groups learn of the crash at once, as if the session had timed out.
          def crash
            members = drivers.reject(&:direct?)
            super
            members.each { |driver| driver.group.silent(driver) }
            @aside.each(&:crash)
          end

          # @see Instance#aside
          def aside
            @aside.reject!(&:ended?)
            super.tap { |sleeper| @aside << sleeper }
          end

          private

          def numbered(group)
            count = group.multiplexing&.boot
            count ? Array.new(count) { |number| group.on_connection(number) } : [group]
          end
        end
      end
    end
  end
end
