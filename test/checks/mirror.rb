# frozen_string_literal: true

require "yaml"
require_relative "check"

module Penstock
  module Checks
    # `test/unit` mirrors `lib/penstock`: the tests of a/b.rb stand in a/b_test.rb, or in a/b_<aspect>_test.rb.
    #
    # mirror.yml lists what differs, each entry with its reason: tests of something else than one file of lib (`elsewhere`),
    # and files of lib that are tested together with others (`together`), with the tests that cover them and their number. A new
    # file without a test of its own changes that number, so that it can't be overlooked.
    class Mirror < Check
      LIB = "lib/penstock/"
      TESTS = "test/unit/"

      # @param paths [Array<String>, nil] files of the repository
      # @param exceptions [Hash, nil] as in mirror.yml
      def initialize(paths = nil, exceptions: nil)
        super()
        @paths = paths
        @exceptions = exceptions || YAML.safe_load_file(File.join(__dir__, "mirror.yml"))
      end

      private

      def problems = misplaced + untested + unneeded + miscounted + uncovered

      def figures
        "#{sources.size} files of lib, #{sources.size - without_own.size} with a unit test of their own, " \
          "#{together.size} entries for the others"
      end

      def misplaced
        (strays - elsewhere.flat_map { |entry| matching(strays, entry) })
          .map { |name| "#{TESTS}#{name}_test.rb: #{LIB}#{name}.rb doesn't exist; name the test after the file that it tests" }
      end

      def untested
        (without_own - together.flat_map { |entry| matching(without_own, entry) })
          .map { |name| "#{LIB}#{name}.rb has no unit test: write #{TESTS}#{name}_test.rb" }
      end

      def unneeded
        elsewhere.select { |entry| matching(strays, entry).empty? }
          .map { |entry| "mirror.yml, elsewhere: #{entry["tests"]} matches no test without a file" } +
          together.select { |entry| matching(without_own, entry).empty? }
            .map { |entry| "mirror.yml, together: #{entry["files"]} matches no file without a test" }
      end

      def miscounted
        together.filter_map do |entry|
          count = matching(without_own, entry).size
          next if count == entry["count"] || count.zero?
          "mirror.yml, together: #{entry["files"]} has #{entry["count"]} files, now #{count}: write a test of its own for a " \
            "new one, or change the number"
        end
      end

      # The tests that an entry names must exist.
      def uncovered
        together.flat_map { |entry| Array(entry["by"]).map { |pattern| [entry, pattern] } }
          .reject { |_entry, pattern| paths.any? { |path| File.fnmatch?(pattern, path, File::FNM_EXTGLOB) } }
          .map { |entry, pattern| "mirror.yml, together: #{entry["files"]}: there is no #{pattern}" }
      end

      def matching(names, entry)
        patterns = Array(entry["tests"] || entry["files"])
        names.select { |name| patterns.any? { |pattern| File.fnmatch?(pattern, name, File::FNM_EXTGLOB | File::FNM_PATHNAME) } }
      end

      def elsewhere = @exceptions["elsewhere"] || []
      def together = @exceptions["together"] || []

      # Tests that belong to no file of lib.
      def strays
        @strays ||= tests.reject { |test| sources.include?(test) || sources.any? { |name| test.start_with?("#{name}_") } }
      end

      def without_own
        @without_own ||= sources.reject { |name| tests.include?(name) || tests.any? { |test| test.start_with?("#{name}_") } }
      end

      def sources = @sources ||= names(LIB, ".rb")
      def tests = @tests ||= names(TESTS, "_test.rb")

      def names(folder, ending)
        paths.select { |path| path.start_with?(folder) && path.end_with?(ending) }
          .map { |path| path.delete_prefix(folder).delete_suffix(ending) }
      end

      def paths = @paths ||= files("lib/*.rb", "test/*.rb")
    end
  end
end
