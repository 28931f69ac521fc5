# frozen_string_literal: true

module Penstock
  class Application
    @extensions = []

    class << self
      # Adapt each application that is created from now on to the framework it runs in.
      # @return [Array<Extension>]
      attr_reader :extensions
    end

    # Adapts applications to the framework they run in. An integration inherits from it, overrides what it needs, and registers
    # an object: `Penstock::Application.extensions << RailsExtension.new`. Each application that is created afterwards gets it,
    # before its own `setup`, so that the user's settings take precedence.
    #
    # The methods are called by the thread that boots or runs the application.
    class Extension
      # Records defaults, and adds middleware outside of the application's own.
      # @param application [Application] new; neither its settings nor its routes may be read yet
      # @return [void]
      def set_up(application)
      end

      # Subscribes to events. Its subscription to `error.occurred` doesn't keep the application from logging errors.
      # @param monitor [Instrumentation::Monitor] the application's
      # @return [void]
      def subscribe(monitor)
      end

      # @param application [Application]
      # @return [Array<Problem>] why it can't run in this framework; reported with those of settings and routes
      def problems(application) = []

      # @param application [Application]
      # @return [Array<Problem>] what will not work well: logged when it starts, failed steps of `penstock doctor`
      def warnings(application) = []

      # Called by `run!` and `swarm!` when everything is valid, before anything is opened or forked.
      # @param application [Application]
      # @return [void]
      def before_run(application)
      end
    end
  end
end
