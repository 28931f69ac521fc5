# frozen_string_literal: true

require "etc"
require "fileutils"
require_relative "../child"
require_relative "valgrind_report"

module Penstock
  module TestSupport
    module Runner
      # The ways in which a suite can be run: plainly, or with a tool that checks memory. A leg builds the extensions
      # its own way into tmp/legs/NAME, never over the ones in lib/.
      class Leg
        class BuildError < StandardError; end

        # Everything takes longer under a tool; deadlines of waits are multiplied by this.
        TIME_FACTOR = 1
        # How often a handle is opened and closed to show that nothing grows.
        LIFECYCLE_ROUNDS = 1_000
        # How many parts run at the same time per core.
        PER_CORE = 3
        # librdkafka with sanitizers takes minutes of two idle cores, and the machine may have other work to do.
        BUILD_SECONDS = 1_800

        def self.for(name)
          {nil => Leg, "asan" => AsanLeg, "valgrind" => ValgrindLeg, "gc-stress" => GcStressLeg}.fetch(name).new
        end

        def prepare
        end

        def env
          {
            "PENSTOCK_TIME_FACTOR" => self.class::TIME_FACTOR.to_s,
            "PENSTOCK_LIFECYCLE_ROUNDS" => ENV.fetch("PENSTOCK_LIFECYCLE_ROUNDS", self.class::LIFECYCLE_ROUNDS.to_s)
          }
        end

        def load_path
          []
        end

        def ruby
          [RbConfig.ruby]
        end

        def timeout(seconds)
          seconds * self.class::TIME_FACTOR
        end

        def at_once
          self.class::PER_CORE * Etc.nprocessors
        end

        # @return [Integer] how many of these compute for most of their time
        def busy_at_once
          Etc.nprocessors
        end

        # @return [Array<String>] the tool's findings, one text each
        def findings
          []
        end

        private

        def build(name, switches)
          @folder = File.expand_path("tmp/legs/#{name}")
          FileUtils.mkdir_p(File.join(@folder, "lib/penstock"))
          extensions.each { |extension| build_extension(extension, switches) }
        end

        def extensions
          Dir["ext/penstock_*"].select { |path| Dir[File.join(path, "*.c")].any? }
        end

        def build_extension(path, switches)
          name = File.basename(path)
          folder = File.join(@folder, name)
          FileUtils.mkdir_p(folder)
          run(folder, switches, RbConfig.ruby, File.expand_path("extconf.rb", path))
          run(folder, switches, "make", "-j2")
          FileUtils.cp(File.join(folder, "#{name}.so"), File.join(@folder, "lib/penstock"))
        end

        def run(folder, switches, *command)
          log = File.join(folder, "build.log")
          output = {out: [log, "a"], err: %i[child out]}
          return if Child.run(command, timeout: BUILD_SECONDS, env: switches, chdir: folder, **output).success?

          raise BuildError, "#{command.join(" ")} failed:\n#{File.readlines(log).last(20).join}"
        end
      end

      # AddressSanitizer and UndefinedBehaviorSanitizer in the extensions and in librdkafka.
      class AsanLeg < Leg
        TIME_FACTOR = 4
        PER_CORE = 1
        LIFECYCLE_ROUNDS = 300

        def prepare
          build("asan", "PENSTOCK_ASAN" => "1")
          FileUtils.rm_f(Dir["#{reports}*"])
        end

        # Ruby keeps much at exit on purpose, so leaks are left to valgrind; and each Ruby thread has a signal stack
        # that isn't the sanitizer's to unmap. Freed memory is kept back for 8 MB only, or the tests of growth would
        # measure that. The user's own options override these.
        OPTIONS = "detect_leaks=0:use_sigaltstack=0:quarantine_size_mb=8:allocator_release_to_os_interval_ms=100:" \
          "abort_on_error=0:exitcode=99"

        def env
          asan = "#{OPTIONS}:log_path=#{reports}:#{ENV.fetch("ASAN_OPTIONS", "")}"
          super.merge(
            "LD_PRELOAD" => library("libasan.so"),
            "ASAN_OPTIONS" => asan,
            "UBSAN_OPTIONS" => "print_stacktrace=1:log_path=#{reports}"
          )
        end

        def load_path
          [File.join(@folder, "lib")]
        end

        def findings
          Dir["#{reports}*"].map { |path| File.readlines(path).first(25).join }
        end

        private

        def reports
          File.expand_path("tmp/legs/asan/report")
        end

        # The sanitizer's own library must be loaded first, and Ruby isn't linked with it.
        def library(name)
          `#{ENV.fetch("CC", RbConfig::CONFIG["CC"]).split.first} -print-file-name=#{name}`.strip
        end
      end

      # valgrind's memcheck; findings that don't come from our code are Ruby's and are left out.
      class ValgrindLeg < Leg
        TIME_FACTOR = 20
        PER_CORE = 1
        LIFECYCLE_ROUNDS = 30
        # At a process's end the C library would free its own memory, under locks of its own: in a forked child one of
        # them may be held forever by a thread of the parent that was looking up a host.
        NO_FREERES = %w[--run-libc-freeres=no --run-cxx-freeres=no].freeze
        # Stacks of fibers are adjacent, half a megabyte each: a step that large is a change of stacks. If valgrind took
        # it for a call or a return, it would mark their contents as uninitialised.
        FIBERS = "--max-stackframe=100000"

        def prepare
          unless system("which valgrind >/dev/null")
            raise BuildError, "valgrind is not installed: apt-get install valgrind"
          end

          build("valgrind", "PENSTOCK_PEDANTIC" => "1")
          FileUtils.rm_f(Dir["#{reports}*"])
        end

        def env
          super.merge("PENSTOCK_VALGRIND" => "1")
        end

        def ruby
          ["valgrind", "--quiet", "--xml=yes", "--xml-file=#{reports}.%p.xml", "--num-callers=40", "--leak-check=full",
            "--show-leak-kinds=definite", "--undef-value-errors=yes", "--fair-sched=yes", "--max-threads=4000",
            "--trace-children=no", "--child-silent-after-fork=yes", FIBERS, *NO_FREERES, *super]
        end

        def load_path
          [File.join(@folder, "lib")]
        end

        def findings
          Dir["#{reports}.*.xml"].flat_map { |path| ValgrindReport.new(path).findings }
        end

        private

        def reports
          File.expand_path("tmp/legs/valgrind/report")
        end
      end

      # A minor collection at every allocation of native tests, and a compaction between tests (test_case.rb).
      class GcStressLeg < Leg
        TIME_FACTOR = 10
        PER_CORE = 1
        LIFECYCLE_ROUNDS = 30

        def env
          super.merge("PENSTOCK_GC_STRESS" => "1")
        end
      end
    end
  end
end
