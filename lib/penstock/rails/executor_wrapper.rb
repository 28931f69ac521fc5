# frozen_string_literal: true

module Penstock
  module OnRails
    # Runs user code in Rails' executor, which resets `CurrentAttributes`, enables the query cache, and returns database
    # connections to their pools after each call. Lines that the application logs meanwhile are tagged with the topic.
    #
    # It doesn't use `executor.wrap`, which reports every error of every attempt: {ErrorReporter} does that, with its context.
    #
    # Called on workers, threads and fibers; stateless.
    class ExecutorWrapper
      # @param executor [Class] the Rails application's
      # @param logger [#call] returns `Rails.logger`
      def initialize(executor, logger)
        @executor = executor
        @logger = logger
      end

      # @param topic [Routing::Topic]
      # @param _action [Symbol]
      # @yield user code
      def call(topic, _action, &code)
        return yield unless topic.features[:rails_executor]
        execution = @executor.run!
        begin
          tagged(topic.name, &code)
        ensure
          execution.complete!
        end
      end

      private

      # By push and pop: `tagged` of a logger that broadcasts to two others would run the block twice.
      def tagged(tag)
        logger = @logger.call
        return yield unless logger.respond_to?(:push_tags)
        begin
          logger.push_tags(tag)
          yield
        ensure
          logger.pop_tags(1)
        end
      end
    end
  end
end
