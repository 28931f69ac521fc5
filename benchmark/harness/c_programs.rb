# frozen_string_literal: true

require "fileutils"

module Bench
  # The C peers of benchmark/c, linked with the librdkafka that the extension was built with, so that a difference is
  # ours and not the library's.
  class CPrograms
    SOURCES = File.expand_path("../c", __dir__)
    BUILD = File.expand_path("../tmp/c", __dir__)
    ROOT = File.expand_path("../..", __dir__)
    LIBRARIES = %w[curl zstd sasl2 ssl crypto z m dl pthread rt].freeze

    # @param name [String] file in benchmark/c, without suffix
    # @param settings [Hash] key=value arguments; `kafka:` is a Hash of librdkafka's own
    # @return [Array<String>]
    def command(name, kafka: {}, **settings)
      [build(name), *settings.map { |key, value| "#{key}=#{value}" },
        *kafka.map { |key, value| "kafka.#{key}=#{value}" }]
    end

    private

    def build(name)
      target = File.join(BUILD, name)
      source = File.join(SOURCES, "#{name}.c")
      return target if fresh?(target, source)

      FileUtils.mkdir_p(BUILD)
      compile(["gcc", "-O2", "-Wall", "-isystem", headers, source, "-o", target, archive, *libraries])
      target
    end

    def compile(command)
      output = IO.popen(command, err: [:child, :out], &:read)
      raise "#{command.join(" ")}:\n#{output.lines.first(10).join}" unless $?.success?
    end

    def fresh?(target, source)
      used = [source, File.join(SOURCES, "bench.h"), archive]
      File.exist?(target) && used.all? { |path| File.mtime(path) <= File.mtime(target) }
    end

    def headers
      File.dirname(Dir[File.join(File.expand_path("../..", archive), "**", "rdkafka.h")].min_by(&:size))
    end

    # The library that the extension was linked with, by its Makefile; other builds (sanitizers) may be in the same
    # folder.
    def archive
      @archive ||= begin
        makefile = Dir[File.join(ROOT, "tmp/*/penstock_kafka/*/Makefile")].max_by { |path| File.mtime(path) }
        found = makefile && File.read(makefile)[/\S+librdkafka\.a/]
        found || raise("the driver isn't built, and the C programs link its librdkafka: run bin/setup")
      end
    end

    # The libraries that this build required (its recipe records them), or all that a build may need.
    def libraries
      noted = File.expand_path("../libs", File.dirname(archive))
      File.exist?(noted) ? File.read(noted).split : LIBRARIES.map { |name| "-l#{name}" }
    end
  end
end
