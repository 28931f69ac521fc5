# frozen_string_literal: true

require_relative "../failure"
require_relative "../offset_writer"
require_relative "../target"
require_relative "plan"

module Penstock
  module CLI
    module Segments
      # Reads and moves the offsets of the application's split groups. Used by one command, on the main thread.
      class Session
        # @param context [Context]
        # @param options [Hash] the command's
        def initialize(context, options)
          @options = options
          @target = Target.new(context, options)
        end

        # @param names [Array<String>] ids of groups as in the routes; none: all split groups
        # @return [Array<Plan>] in the order of the routes
        # @raise [Usage] a name isn't that of a split group
        def plans(names)
          chosen = chosen(names)
          @target.admin do |admin|
            topics = admin.topics
            chosen.map do |origin, parts|
              ids = parts.map(&:id)
              partitions = partitions(topics, parts.first)
              Plan.new(origin, ids, [origin, *ids].to_h { |id| [id, committed(admin, id, partitions)] })
            end
          end
        end

        # @param moves [Hash{String => Array<Array>}] what to commit, by group; an offset that is nil is removed
        def write(moves)
          moves.each do |group, rows|
            removed, kept = rows.partition { |_topic, _partition, offset| offset.nil? }
            remove(group, removed) if removed.any?
            writer.call(group, kept)
          end
        end

        private

        def remove(group, rows)
          partitions = rows.group_by(&:first).transform_values { |some| some.map { |_topic, partition, _offset| partition } }
          @target.admin { |admin| admin.delete_committed_offsets(group, partitions) }
        end

        def chosen(names)
          split = application.validate!.routes.consumer_groups.select(&:segment).group_by(&:segment_origin)
          raise Usage, "no consumer group of the application has parallel_segments" if split.empty?

          unknown = names - split.keys
          raise Usage, "#{unknown.join(", ")}: not split by parallel_segments; #{split.keys.join(", ")} are" if unknown.any?

          names.empty? ? split : split.slice(*names)
        end

        # Only of the routed topics: offsets of topics that the group consumed earlier are ignored.
        def partitions(topics, group)
          topics.select { |topic, _count| routed?(group, topic) }.transform_values { |count| (0...count).to_a }
        end

        def committed(admin, group, partitions)
          return {} if partitions.empty?

          admin.read_committed_offsets(group, partitions, stable: true).select { |row| row[:offset] }
            .to_h { |row| [[row[:topic], row[:partition]], [row[:offset], row[:metadata]]] }
        end

        def routed?(group, topic) = group.all_subscription_groups.any? { |connection| connection.topic_for(topic) }

        def application
          @target.application || raise(Usage, "this needs the routes of an application: --bootstrap alone is not enough")
        end

        def writer
          @writer ||= OffsetWriter.new(@target.consumer_settings, @options.fetch(:timeout, Target::LIMIT_S) * 1_000,
            @target.token_provider)
        end
      end
    end
  end
end
