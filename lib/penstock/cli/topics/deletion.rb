# frozen_string_literal: true

module Penstock
  module CLI
    module Topics
      # Shared by `topics delete` and `topics reset`: both refuse protected topics and topics that are consumed, and ask.
      # Included in commands.
      module Deletion
        private

        # @param admin [Admin]
        # @param names [Array<String>]
        # @param application [Application, nil]
        # @return [Boolean] false: one of them must not be deleted, which is reported; none is deleted then
        def deletable?(admin, names, application)
          require_relative "../../declaratives/deletion_guard"

          guard = Declaratives::DeletionGuard.new(admin, application ? application.declaratives.protected_names : [])
          reasons = guard.reasons(names)
          reasons.each { |name, reason| warn_user "#{name}: not deleted, #{reason}" }
          warn_user "nothing was deleted" if reasons.any? && names.size > 1
          reasons.empty?
        end

        # @return [Boolean]
        def agreed?(question)
          return true if options[:yes]

          fail_usage "this deletes messages permanently; pass --yes where no terminal can confirm it" unless context.stdin.tty?
          confirmed?(question)
        end

        # @return [Boolean]
        def delete(admin, name)
          admin.delete_topic(name)
          say "deleted #{name}"
          true
        rescue KafkaError => error
          missing = error.code == :unknown_topic_or_part
          warn_user "#{name}: #{missing ? "there is no such topic" : error.message.delete_prefix("#{name}: ")}"
          false
        end
      end
    end
  end
end
