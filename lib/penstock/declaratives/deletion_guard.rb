# frozen_string_literal: true

require_relative "../native/kafka_error"

module Penstock
  module Declaratives
    # Finds reasons why a topic must not be deleted: it is protected, or members of a group read it. Runs on the caller's thread.
    class DeletionGuard
      # Of groups without members.
      IDLE = %w[empty dead].freeze
      # The embedded broker can't list groups.
      UNKNOWN = %i[unsupported_feature unsupported_version].freeze
      private_constant :IDLE, :UNKNOWN

      # @param admin [Admin]
      # @param protected_names [Array<String>]
      def initialize(admin, protected_names)
        @admin = admin
        @protected = protected_names
        @unstable = false
      end

      # @param names [Array<String>]
      # @return [Hash{String => String}] the reason by topic; without those that may be deleted
      def reasons(names)
        names.filter_map { |name| reason(name)&.then { |text| [name, text] } }.to_h
      end

      private

      def reason(name)
        return "it is protected: remove `protect` from its declaration first" if @protected.include?(name)

        groups = readers[name] or return
        "it is consumed by #{(groups.size > 1) ? "groups" : "group"} #{groups.join(", ")}: stop these processes first"
      end

      # @return [Hash{String => Array<String>}] groups by topic
      def readers
        @readers ||= @admin.group_infos(live_groups).each_with_object({}) do |(group, info), all|
          topics_of(group, info).each { |topic| (all[topic] ||= []) << group }
        end
      end

      def live_groups
        @admin.groups.reject { |row| IDLE.include?(row[:state].to_s.downcase) }.map { |row| row[:group] }
      rescue KafkaError => error
        raise unless UNKNOWN.include?(error.code)

        []
      end

      # During a rebalance members have no partitions: then the group reads what it has committed.
      # @param info [Hash, KafkaError]
      def topics_of(group, info)
        return [] if info.is_a?(KafkaError) && info.code == :group_id_not_found # it has ended meanwhile
        raise info if info.is_a?(KafkaError)

        topics = info[:members].flat_map { |member| member[:partitions].map(&:first) }.uniq
        return topics if topics.any? || info[:members].empty?

        committed(group).map { |row| row[:topic] }.uniq
      end

      # An open transaction may be anybody's, and must not prevent that a topic is deleted which has nothing to do with it. Its
      # end is waited for once.
      def committed(group)
        @admin.read_committed_offsets(group, stable: !@unstable)
      rescue KafkaError => error
        raise if @unstable || error.code != :unstable_offset_commit

        @unstable = true
        retry
      end
    end
  end
end
