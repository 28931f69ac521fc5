# frozen_string_literal: true

require "fileutils"
require "open3"
require "tempfile"
require_relative "../child"
require_relative "mutant"

module Penstock
  module TestSupport
    module Mutants
      # bin/test mutants: applies each defect of test/mutants to a copy of the tree and runs what should detect it, with
      # as many seeds as take a minute on an idle machine. A defect that nothing detects means that the checker doesn't
      # see it.
      class Command
        TREE = File.expand_path("tmp/mutants/#{::Process.pid}") # of its own: two may run at the same time
        SEEDS = 2_000
        # Seconds a run may take, in {Wait}'s: a defect can make a program wait for ever.
        LIMIT = 900
        # The same seeds each time, so that the table can be compared.
        FROM = 1
        SIM = [RbConfig.ruby, "test/support/sim/command.rb", "--from", FROM.to_s, "--quick"].freeze

        # @param names [Array<String>] none: all
        def initialize(names)
          all = Mutant.all
          unknown = names - all.map(&:name)
          abort "bin/test mutants: there is no #{unknown.join(", ")}; there are #{all.map(&:name).join(", ")}" if unknown.any?
          @mutants = all.select { |mutant| names.empty? || names.include?(mutant.name) }
        end

        # @return [Integer] exit code
        def call
          (sound? && @mutants.map { |mutant| show(mutant) }.all?) ? 0 : 1
        ensure
          FileUtils.rm_rf(TREE)
        end

        private

        # The tests that detect defects must be green without one.
        # @return [Boolean]
        def sound?
          copy
          @mutants.map(&:shown_by).uniq.all? do |what|
            code, output = run(what, ["--seeds", "20"])
            puts "without a defect #{what} fails already:\n#{output}" unless code.zero?
            code.zero?
          end
        end

        # @return [Boolean] whether it failed
        def show(mutant)
          copy
          mutant.apply(TREE)
          code, output = run(mutant.shown_by, ["--seeds", SEEDS.to_s])
          verdict = code.zero? ? "STAYS GREEN" : red(mutant, output)
          puts format("%-28s %-16s %s", mutant.name, mutant.breaks.join(" "), verdict)
          !verdict.start_with?("STAYS")
        rescue Mutant::Error => error
          puts error.message
          false
        end

        def red(mutant, output)
          return "red: #{mutant.shown_by}" unless mutant.shown_by == "sim"
          seed, invariant = output.match(/^seed (\d+): (I\d+)/)&.captures
          return "STAYS unclear:\n#{output.lines.last(15).join}" unless invariant
          what = mutant.breaks.include?(invariant) ? invariant : "#{invariant} (not named)"
          "red by #{what} after #{seed.to_i - FROM + 1} seeds"
        end

        # Without Bundler's settings for this tree.
        # @return [Array(Integer, String)] exit code and output; a run that doesn't end has neither seed nor invariant
        def run(what, budget)
          words = (what == "sim") ? [*SIM, *budget] : [RbConfig.ruby, "-Itest", "-Ilib", what]
          Tempfile.create("mutant") do |file|
            env = {"RUBYOPT" => nil, "RUBYLIB" => nil}
            result = Child.run(words, timeout: LIMIT, env: env, chdir: TREE, out: file, err: file)
            output = File.read(file.path)
            result.timed_out ? [1, "#{output}#{result}\n"] : [result.status.exitstatus || 1, output]
          end
        end

        # The tracked files of lib/ and test/, as they are in the working tree, with the built extensions.
        def copy
          FileUtils.rm_rf(TREE)
          listing = Open3.capture2("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "lib", "test").first
          files = listing.split("\0")
          (files.select { |path| File.file?(path) } + Dir["lib/**/*.so"]).each do |path|
            FileUtils.mkdir_p(File.join(TREE, File.dirname(path)))
            FileUtils.cp(path, File.join(TREE, path))
          end
        end
      end
    end
  end
end

exit Penstock::TestSupport::Mutants::Command.new(ARGV).call if $PROGRAM_NAME == __FILE__
