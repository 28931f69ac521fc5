# frozen_string_literal: true

require_relative "../../on_demand"
require_relative "base"

module Penstock
  module OutboxCommands
    # Runs a relay until a signal stops it. The relay has a thread; this thread waits for signals.
    class Relay < Base
      command "outbox", "Sends the rows of the outbox until stopped"
      details <<~TEXT
        Several relays may run, on several machines, in case one fails: a lock in the database allows one turn at a time.
        INT, TERM and QUIT stop it: messages in flight may finish within `stop_timeout`; a second signal ends it at once.
      TEXT

      ENDED = :ended
      # Superclass of Active Record's errors about a database that can't be reached.
      UNREACHABLE = "ActiveRecord::ConnectionNotEstablished"
      private_constant :ENDED, :UNREACHABLE

      private

      def call(_words)
        context.stdout.sync = true
        application = boot
        log_by_default(application)
        require_relative "../../server/signals"

        signals = Server::Signals.new.tap(&:install)
        supervise(Outbox.relay, signals)
      ensure
        signals&.restore
      end

      def supervise(relay, signals)
        runner = Thread.new { outcome_of(relay, signals) }
        return failed(runner.value) unless stop?(signals)

        relay.stop!
        stop?(signals) ? CLI::ExitCodes::FORCED : failed(runner.value)
      end

      # @return [Boolean] false when the relay has ended
      def stop?(signals)
        loop do
          message = signals.wait
          return false if message == ENDED
          return true if Server::Signals::STOP.include?(message)
        end
      end

      # @return [StandardError, ScriptError, nil] the error that ended the relay
      def outcome_of(relay, signals)
        relay.run
        nil
      rescue StandardError, ScriptError => error
        error
      ensure
        signals.post(ENDED)
      end

      def failed(error)
        return CLI::ExitCodes::OK unless error
        raise error unless error.class.ancestors.any? { |ancestor| ancestor.name == UNREACHABLE }

        reason = error.message.lines.first.strip.delete_suffix(".")
        raise ConfigurationError.new([Problem.new("outbox", "the database can't be reached: #{reason}",
          "Check its address and that it runs; then start the relay again")])
      end

      def log_by_default(application)
        return if application.monitor.subscribed?("error.occurred")

        application.monitor.subscribe(Instrumentation::LoggerListener.new(application.logger))
      end
    end
  end
end
