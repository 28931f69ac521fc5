# frozen_string_literal: true

require_relative "../../cli/boot"
require_relative "../../cli/command"

module Penstock
  # `penstock outbox …`, one file per command. Not inside of {Outbox}, which is loaded only when a boot file names it.
  module OutboxCommands
    # Base of the commands: boots the application, whose database connection they use, and parses row ids.
    class Base < CLI::Command
      private

      # @return [Application]
      def boot
        CLI::Boot.new(context).application.tap { require_relative "../../outbox" }
      end

      # @param words [Array<String>]
      # @return [Array<Integer>]
      def ids(words)
        words.map { |word| Integer(word, 10, exception: false) || fail_usage("#{word} is no row id: see `outbox status`") }
      end
    end
  end
end
