# frozen_string_literal: true

require_relative "executor_wrapper"
require_relative "reload_gate"

module Penstock
  module OnRails
    # Runs user code in Rails' executor and, when a file has changed, reloads the code before a call: a changed consumer, filter
    # or model takes effect with the next call. For environments in which Rails reloads code.
    #
    # Called on workers, threads and fibers.
    class ReloadingWrapper < ExecutorWrapper
      # @param app [Rails::Application]
      # @param logger [#call] returns `Rails.logger`
      # @param boot_file [BootFileWatch] reports changes that only a restart can apply
      # @param report [#call] receives the text of a line for the log
      def initialize(app, logger:, report:, boot_file:)
        super(app.executor, logger)
        @reloader = app.reloader
        @boot_file = boot_file
        @gate = ReloadGate.new(changed: method(:changed?), report: report, root: app.root.to_s)
      end

      # @see ExecutorWrapper#call
      def call(topic, action, &code)
        return yield unless topic.features[:rails_executor]
        @gate.pass(topic.name, action) do |reload|
          execution = @executor.run!
          begin
            tagged(topic.name) { reload ? reloaded(&code) : yield }
          ensure
            execution.complete!
          end
        end
      end

      private

      def changed?
        @boot_file.check
        @reloader.check.call
      end

      # Rails checks again and reloads the code before it yields.
      def reloaded
        @reloader.wrap do
          @gate.reloaded
          yield
        end
      end
    end
  end
end
