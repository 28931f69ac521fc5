# frozen_string_literal: true

require "fileutils"

module Bench
  # The Java programs of benchmark/java, compiled once against Kafka's jars.
  class JavaPrograms
    SOURCES = File.expand_path("../java", __dir__)
    BUILD = File.expand_path("../tmp/java", __dir__)
    # Several run at the same time on few cores: no second compiler and no collector threads.
    JVM = %w[-Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1].freeze

    # @param home [String] KAFKA_HOME
    def initialize(home)
      @home = home
    end

    # @param name [String] class, and file in benchmark/java without suffix
    # @param arguments [Array<Object>]
    # @return [Array<String>] command line
    def command(name, *arguments)
      compile(name)
      ["java", *JVM, "-Dlog4j2.configurationFile=#{File.join(@home, "log4j2.properties")}", "-cp", "#{BUILD}:#{jars}", name,
        *arguments.map(&:to_s)]
    end

    private

    def compile(name)
      source = File.join(SOURCES, "#{name}.java")
      target = File.join(BUILD, "#{name}.class")
      return if File.exist?(target) && File.mtime(target) >= File.mtime(source)

      FileUtils.mkdir_p(BUILD)
      output = IO.popen(["javac", "-d", BUILD, "-cp", jars, source], err: [:child, :out], &:read)
      raise "#{source} could not be compiled:\n#{output}" unless $?.success?
    end

    def jars = File.join(@home, "libs/*")
  end
end
