# frozen_string_literal: true

require "optparse"
require_relative "chroot"
require_relative "run"

module Penstock
  module TestSupport
    module Runner
      # bin/test
      class Command
        USAGE = <<~TEXT
          Usage: bin/test [kind…] [file…] [--asan | --valgrind | --gc-stress] [--chroot trixie]

          Kinds: #{KINDS.map(&:name).join(" ")}
          Without arguments all but #{KINDS.reject(&:by_default).map(&:name).join(" and ")} run.
                 bin/test sim --seeds N [--from S] | --seconds N | --seed S [--trace] | --plan FILE [--trace]
                 bin/test mutants [name…]
        TEXT
        OWN = {"sim" => "test/support/sim/command.rb", "mutants" => "test/support/mutants/command.rb"}.freeze
        private_constant :OWN

        def initialize(arguments)
          @leg = nil
          @chroot = nil
          @words = own?(arguments) ? arguments.dup : parser.parse(arguments)
        end

        # @return [Integer] the exit code
        def call
          return exec(RbConfig.ruby, OWN.fetch(@words.shift), *@words) if own?(@words)
          return Chroot.new(@chroot).test(@words) ? 0 : 1 if @chroot

          Run.new(selection, leg: Leg.for(@leg), rails: RailsBundles.new(all: @words.include?("rails"))).call ? 0 : 1
        rescue Leg::BuildError, Chroot::Error, KafkaServer::Error => error
          warn error.message
          1
        rescue Interrupt
          warn "interrupted"
          130
        end

        private

        # A kind with options is served by a program of its own.
        def own?(words)
          return true if words.first == "mutants"
          OWN.key?(words.first) && words[1].to_s.match?(/\A--(seeds|seed|seconds|from|plan)/)
        end

        def parser
          OptionParser.new(USAGE) do |options|
            options.on("--asan", "with AddressSanitizer and UndefinedBehaviorSanitizer") { @leg = "asan" }
            options.on("--valgrind", "under valgrind's memcheck") { @leg = "valgrind" }
            options.on("--gc-stress", "with a collection at every allocation, and compaction") { @leg = "gc-stress" }
            options.on("--chroot SUITE", "with the Ruby of another Debian (root only)") { |suite| @chroot = suite }
          end
        end

        def selection
          files, names = @words.partition { |word| word.end_with?(".rb") }
          kinds = @words.empty? ? KINDS.select(&:by_default) : names.map { |name| kind(name) }
          by_kind(files) + kinds.map { |kind| [kind, kind.files] }.reject { |_, found| found.empty? }
        end

        def by_kind(files)
          files.group_by { |file| file[%r{test/([^/]+)/}, 1] }.map { |name, group| [kind(name), group] }
        end

        def kind(name)
          KINDS.find { |kind| kind.name == name } || abort("bin/test: no kind #{name.inspect}\n#{USAGE}")
        end
      end
    end
  end
end

exit Penstock::TestSupport::Runner::Command.new(ARGV).call if $PROGRAM_NAME == __FILE__
