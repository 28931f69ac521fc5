# frozen_string_literal: true

module Penstock
  module Checks
    # The constants that are loaded on first use (lib/penstock/on_demand.rb): their files, and files that add to their classes,
    # are loaded by constant, never by path. Otherwise a thread that names the constant meanwhile gets a class with some of its
    # methods, or two threads wait for each other.
    module OnDemand
      # Without loading the file: it would define Penstock::Process, and this code means Ruby's.
      FILES = File.read(File.expand_path("../../lib/penstock/on_demand.rb", __dir__)).scan(%r{(\w+): "(penstock/[^"]+)"}).to_h
        .transform_values { |path| "lib/#{path}.rb" }.freeze
      # Opens a module without methods of its own, from a command, which has one thread.
      ALL_THE_SAME = [["lib/penstock/outbox/commands/install.rb", "lib/penstock/outbox/migration.rb"]].freeze
      private_constant :FILES, :ALL_THE_SAME

      class << self
        # @param constant [String] such as "Admin" or "Instrumentation::Monitor"
        # @return [String, nil] its file, from the repository's root
        def file(constant) = FILES[constant.split("::").last]

        # @param sources [Array<SourceFile>]
        # @return [Array<String>]
        def problems(sources)
          adding = sources.to_h { |source| [source.path, source.opened & FILES.keys] }
          sources.flat_map do |source|
            source.required_by_path.filter_map do |path|
              name = FILES.key(path) || added_to(path, source, adding)
              next if name.nil? || ALL_THE_SAME.include?([source.path, path])

              "#{source.path} requires #{path}: load #{name} by its constant (on_demand.rb)"
            end
          end
        end

        private

        # Files of a class may require each other: who loads the class first has loaded it by its constant.
        def added_to(path, source, adding)
          return if source.path.start_with?("#{File.dirname(path)}/")

          adding.fetch(path, []).find { |name| FILES[name] != source.path && !adding[source.path].include?(name) }
        end
      end
    end
  end
end
