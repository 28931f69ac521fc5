# frozen_string_literal: true

require_relative "../../cli/boot"
require_relative "../../cli/command"

module Penstock
  # `penstock outbox …`, a file a command. Not inside of {Outbox}, which a boot file has loaded when it first names it.
  module OutboxCommands
    # What the commands have in common: the application, which has the database's connection, and ids of rows.
    class Base < CLI::Command
      private

      # @return [Application]
      def boot
        CLI::Boot.new(context).application.tap { require_relative "../../outbox" }
      end

      # @param words [Array<String>]
      # @return [Array<Integer>]
      def ids(words)
        words.map { |word| Integer(word, 10, exception: false) || fail_usage("#{word} is no id, see `penstock outbox status`") }
      end
    end
  end
end
