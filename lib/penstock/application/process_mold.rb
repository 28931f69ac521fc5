# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "../runtime/threads"

module Penstock
  class Application
    # Prepares the mold of `run_on :processes` for an application that doesn't run on the main thread, such as one inside
    # another server: that process can't be forked from, because it is full of threads and connections. The mold is a fresh
    # process instead, which loads the boot file ({SpawnedMold}). {#spawn} is called by the application that needs it,
    # {#child_context} by the one that was loaded in the mold; the latter compares the routes of both.
    #
    # Created when it is needed, by the thread that boots; stateless.
    class ProcessMold
      # Most differences between routes that are reported.
      MOST = 10
      private_constant :MOST

      class << self
        # From now on this process is a mold.
        def inside! = @inside = true

        # @return [Boolean] whether this process is a mold
        def inside? = @inside || false

        # @raise [ConfigurationError] in a mold
        def refuse_to_run
          return unless inside?
          raise ConfigurationError.new([Problem.new("run_on :processes", "the boot file runs the application: it is loaded " \
            "again in the process that others are forked from, and must only define it", "Run it in another file")])
        end
      end

      # @param name [String] the application's
      # @param routes [Routing::Routes]
      # @param middleware [Execution::Middleware]
      # @param monitor [Instrumentation::Monitor]
      # @param topics [Array<Routing::Topic>] the consumed topics
      def initialize(name:, routes:, middleware:, monitor:, topics:)
        @name = name
        @routes = routes
        @middleware = middleware
        @monitor = monitor
        @topics = topics
      end

      # @return [Boolean] whether a route runs on processes
      def needed? = pooled.any?

      # Spawns the mold and waits until it has loaded the boot file.
      # @param boot_file [String, nil]
      # @return [Execution::Processes::MoldHandle]
      # @raise [ConfigurationError] there is no boot file, it can't be loaded, or its routes differ
      def spawn(boot_file: nil)
        require_relative "../execution/processes/mold_spawn"
        Execution::Processes::MoldSpawn.new(file: boot_file_path(boot_file), name: @name, topics: pooled.map(&:id),
          routes: description, events: @monitor.available_events.select { |event| @monitor.subscribed?(event) }).call
      end

      # In the mold, for the application that was loaded there.
      # @param order [Hash{Symbol => Object}] what {#spawn} sent
      # @param critical [Array<Class>] errors that stop the application
      # @param child_setup [Hash{Symbol => #call}] what forked processes inherit from the application
      # @return [Execution::Processes::ChildContext]
      # @raise [ConfigurationError] the routes differ
      def child_context(order, critical:, child_setup:)
        require_relative "../execution/processes/child_context"
        compare(order[:routes])
        subscribe_to(order[:events] & @monitor.available_events)
        topics = @topics.to_h { |topic| [topic.id, topic] }
        Execution::Processes::ChildContext.new(topics: order[:topics].map { |id| topics.fetch(id) }, monitor: @monitor,
          middleware: @middleware.to_stack, clock: Clock::SYSTEM, critical: critical,
          threads: Runtime::Threads.new(method(:thread_of_child_died)), **child_setup)
      end

      # @return [Array<String>] everything that must be the same on both sides and can be expressed as text
      def description
        @routes.topics.select(&:active?).map { |topic| describe_route(topic) }.uniq + describe_middleware
      end

      private

      def pooled = @topics.select { |topic| topic.features[:run_on]&.processes? }

      def boot_file_path(named)
        require_relative "../config/boot_file"
        file = Config::BootFile
        env = named ? ENV.to_h.merge(file::VARIABLE => named.to_s) : ENV
        file.new(env: env).path || no_boot_file("#{file::VARIABLE} is #{file::SELF_BOOT}, and there is no #{file::ENVIRONMENT}")
      rescue MissingBootFileError => error
        no_boot_file(error.message)
      end

      def no_boot_file(words)
        raise ConfigurationError.new([Problem.new("run_on :processes", "outside of the main thread, processes are forked from " \
          "one that loads the application again, from its boot file, and #{words}",
          "Specify the file that defines the application: Penstock::Embedded.start(boot_file: \"…\")")])
      end

      # An event without a subscriber isn't created; children send theirs to the parent, which has the listeners.
      def subscribe_to(events)
        events.each { |event| @monitor.subscribe(event) {} unless @monitor.subscribed?(event) }
      end

      def describe_route(topic)
        what = topic.pattern ? "pattern #{topic.pattern.source}" : "topic #{topic.name}"
        "#{what} of group #{topic.consumer_group_id} with #{topic.features[:consumer]&.name || "a class without a name"} on " \
          ":#{topic.features[:run_on]&.kind || :threads}"
      end

      def describe_middleware
        layers, wrappers = @middleware.to_a, @middleware.wrappers
        ["middleware #{layers.map { |layer| layer.class.name }.join(", ")}"].reject { layers.empty? } +
          wrappers.map { |wrapper| "a wrapper around user code, #{wrapper.class.name}" }
      end

      def compare(theirs)
        ours = description
        differences = (theirs - ours).map { |one| "the boot file doesn't define #{one}, which the application has" } +
          (ours - theirs).map { |one| "the boot file defines #{one}, which the application doesn't have" }
        return if differences.empty?
        hint = "Make the boot file define the same as the process that runs the application, or set another one (boot_file:)"
        raise ConfigurationError.new(differences.first(MOST).map { |text| Problem.new("run_on :processes", text, hint) })
      end

      def thread_of_child_died(name, error)
        @monitor.instrument("error.occurred", {type: "worker.process.error", error: error, thread: name})
      end
    end
  end
end
