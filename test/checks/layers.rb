# frozen_string_literal: true

require_relative "check"
require_relative "on_demand"
require_relative "source_file"

module Penstock
  module Checks
    # The layers of lib/penstock: a folder uses only folders above it, files form no cycle, leaves use no other leaf,
    # classes that are loaded on first use are loaded by their constant, and every file can be loaded alone.
    class Layers < Check
      BASE = %w[errors cautious_clock clock deadline doubling exit_reports nearest on_demand printable query_time user_line
        transaction_scope version weak_set].freeze
      ORDER = %w[
        base compat native instrumentation config messages serialization routing producer reading admin declaratives iterator
        consumer assignment processing execution runtime server swarm delays application
      ].freeze
      LEAVES = %w[monitors outbox scheduling active_job cli web testing lint].freeze
      # Integrations with a framework, which may use leaves too.
      INTEGRATIONS = %w[rails].freeze
      # Files that belong to another layer than their folder.
      ALIASES = {"app" => "application", "embedded" => "application", "process" => "application",
                 "framework" => "application"}.freeze

      # Leaves that use another one.
      BUILT_ON = {"active_job" => %w[outbox], "testing" => %w[outbox active_job]}.freeze

      # Words that must not occur in the pure layer: it decides, others act.
      IMPURE = %w[Thread IO Process Native Socket].freeze
      # Exceptions, each with its reason.
      PURE_ALL_THE_SAME = {
        "lib/penstock/processing/ledger.rb" => "the ledger is a value in C: no handle, no thread, no I/O"
      }.freeze

      def initialize(sources = nil)
        super()
        @sources = sources
      end

      private

      def problems
        steps_upwards + rings + impure + global_reads + OnDemand.problems(sources) + (@sources ? [] : not_loadable_alone)
      end

      def figures
        "#{sources.size} files"
      end

      def sources
        @sources ||= files("lib/penstock/*.rb").map { |path| SourceFile.read(path) }
      end

      def steps_upwards
        sources.flat_map do |source|
          layers = source.required_paths.map { |path| [layer_of(path), "requires #{path}"] } +
            source.constants.map { |name| [layer_of_constant(name), "names #{name}"] }
          layers.select { |layer, _| layer && forbidden?(layer_of(source.path), layer) }
            .map { |layer, what| "#{source.path} (#{layer_of(source.path)}) #{what}: #{layer} is not above it" }.uniq
        end
      end

      # Leaves are independent of each other, but for {BUILT_ON}, and below everything; only the command line, where they
      # register, is used by all.
      def forbidden?(own, other)
        return false if own == other || INTEGRATIONS.include?(own)
        return true if INTEGRATIONS.include?(other)
        return LEAVES.include?(other) && other != "cli" && !BUILT_ON.fetch(own, []).include?(other) if LEAVES.include?(own)

        LEAVES.include?(other) || ORDER.index(other) > ORDER.index(own)
      end

      def layer_of(path)
        name = path[%r{lib/penstock/([a-z_]+)}, 1]
        return nil if name.nil?

        BASE.include?(name) ? "base" : known!(ALIASES.fetch(name, name), path)
      end

      def known!(name, path)
        return name if [*ORDER, *LEAVES, *INTEGRATIONS].include?(name)

        raise ArgumentError, "#{path}: #{name} is no layer; architecture and test/checks/layers.rb list them"
      end

      # Only qualified names show a layer: a bare `Server` may be a class of the file's own module.
      def layer_of_constant(name)
        first, second = name.delete_prefix("::").delete_prefix("Penstock::").split("::")
        return nil if second.nil? && !name.start_with?("Penstock::")

        layer = first.gsub(/(?<=[a-z])(?=[A-Z])/, "_").downcase
        layer if [*ORDER, *LEAVES].include?(layer)
      end

      def rings
        graph = sources.to_h { |source| [source.path, source.required_paths] }
        seen = {}
        graph.keys.filter_map { |path| ring_from(path, graph, seen, []) }
      end

      def ring_from(path, graph, seen, trail)
        return "ring: #{[*trail.drop_while { |step| step != path }, path].join(" -> ")}" if trail.include?(path)
        return if seen[path]

        found = graph.fetch(path, []).filter_map { |following| ring_from(following, graph, seen, [*trail, path]) }.first
        seen[path] = true
        found
      end

      def impure
        pure = sources.select { |source| layer_of(source.path) == "processing" && !PURE_ALL_THE_SAME.key?(source.path) }
        pure.flat_map do |source|
          named = source.constants.map { |name| name.delete_prefix("::").split("::").first } & IMPURE
          named.map { |name| "#{source.path} names #{name}: processing must stay pure" }
        end
      end

      # Context is passed in; only the composition root and the leaves know the application.
      def global_reads
        sources.reject { |source| above_application?(source.path) }.flat_map do |source|
          source.reads_of_penstock.map { |name| "#{source.path} reads Penstock.#{name}: pass it in" }
        end
      end

      def above_application?(path)
        layer = layer_of(path)
        layer == "application" || [*LEAVES, *INTEGRATIONS].include?(layer)
      end

      # In child processes, one per file: what one file loads must not help the next.
      def not_loadable_alone
        Dir["lib/penstock/**/*.rb"].sort.filter_map do |path|
          output, loaded = run(RbConfig.ruby, "--disable-gems", "-Ilib", "-e", "require './#{path}'")
          "#{path} can't be loaded alone: #{output.lines.first}" unless loaded || optional?(output)
        end
      end

      # Integrations need a gem that isn't a dependency; RubyGems is off, so that a missing gem is noticed.
      def optional?(output)
        output.match?(/cannot load such file -- (?!.*penstock)/)
      end
    end
  end
end
