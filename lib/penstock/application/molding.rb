# frozen_string_literal: true

require_relative "../errors"

module Penstock
  class Application
    # Processes of `run_on :processes` where the application doesn't run on the main thread, as in another server's process, which
    # can't be forked from: it is full of threads and connections. The process they are forked from is a fresh one then, that
    # loads the boot file ({SpawnedMold}). This is what both sides, the application here and the one loaded there, do for it.
    #
    # Called by the thread that boots.
    module Molding
      # Most differences of routes that are told.
      MOST = 10
      private_constant :MOST

      class << self
        # From here on this process is one that others are forked from.
        def inside! = @inside = true

        # @return [Boolean]
        def inside? = @inside || false

        # @raise [ConfigurationError] in a process that others are forked from
        def refuse_to_run
          return unless inside?
          raise ConfigurationError.new([Problem.new("run_on :processes", "the boot file runs the application: it is loaded " \
            "once more in the process that others are forked from, and has only to define it", "Run it in another file")])
        end
      end

      # Spawns it, where a route wants one.
      # @param filters [#take?, nil] which routed topics this process consumes
      # @param boot_file [String, nil]
      # @return [Execution::Processes::MoldHandle, nil]
      # @raise [ConfigurationError] it can't be made: there is no boot file, it can't be loaded, or has other routes
      # @api private
      def spawned_mold(filters: nil, boot_file: nil)
        topics = consumed(filters).flat_map(&:topics).select { |topic| topic.features[:run_on]&.processes? }
        return if topics.empty?
        log_by_default # what it listens to is told there
        require_relative "../execution/processes/mold_spawn"
        Execution::Processes::MoldSpawn.new(file: boot_file_path(boot_file), name: name, topics: topics.map(&:id),
          routes: in_words, events: monitor.available_events.select { |event| monitor.subscribed?(event) }).call
      end

      # In the process that others are forked from, on the application that was loaded there.
      # @param order [Hash{Symbol => Object}] what {#spawned_mold} sent
      # @return [Execution::Processes::Kit]
      # @raise [ConfigurationError] routes are others
      # @api private
      def mold_kit(order)
        same(order[:routes])
        (order[:events] & monitor.available_events).each { |event| monitor.subscribe(event) {} unless monitor.subscribed?(event) }
        topics = consumed(nil).flat_map(&:topics).to_h { |topic| [topic.id, topic] }
        Execution::Processes::Kit.new(topics: order[:topics].map { |id| topics.fetch(id) }, monitor: monitor,
          onion: Execution::Onion.new(@middleware.to_a), clock: Clock::SYSTEM, critical: config.critical_errors,
          threads: Runtime::Threads.new(method(:thread_of_child_died)), **home)
      end

      private

      def boot_file_path(named)
        require_relative "../config/boot_file"
        file = Config::BootFile
        env = named ? ENV.to_h.merge(file::VARIABLE => named.to_s) : ENV
        file.new(env: env).path || no_boot_file("#{file::VARIABLE} says that there is none, and there is no #{file::ENVIRONMENT}")
      rescue MissingBootFileError => error
        no_boot_file(error.message)
      end

      def no_boot_file(words)
        raise ConfigurationError.new([Problem.new("run_on :processes", "beside the main thread processes are forked from one " \
          "that loads the application once more, from its boot file, and #{words}",
          "Name the file that defines the application: Penstock::Embedded.start(boot_file: \"…\")")])
      end

      # Everything that has to be the same on both sides and can be told.
      def in_words = routes.topics.select(&:active?).map { |topic| route_in_words(topic) }.uniq + middleware_in_words

      def route_in_words(topic)
        what = topic.pattern ? "pattern #{topic.pattern.source}" : "topic #{topic.name}"
        "#{what} of group #{topic.consumer_group_id} with #{topic.consumer&.name || "a class without a name"} on " \
          ":#{topic.features[:run_on]&.kind || :threads}"
      end

      def middleware_in_words
        layers = @middleware.to_a
        layers.empty? ? [] : ["middleware #{layers.map { |layer| layer.class.name }.join(", ")}"]
      end

      def same(theirs)
        ours = in_words
        differences = (theirs - ours).map { |one| "the boot file doesn't define #{one}, which the application has" } +
          (ours - theirs).map { |one| "the boot file defines #{one}, which the application doesn't have" }
        return if differences.empty?
        hint = "Let the boot file define what the process that loads it first has, or name another one (boot_file:)"
        raise ConfigurationError.new(differences.first(MOST).map { |text| Problem.new("run_on :processes", text, hint) })
      end

      def thread_of_child_died(name, error)
        monitor.instrument("error.occurred", {type: "worker.process.error", error: error, thread: name})
      end
    end
  end
end
